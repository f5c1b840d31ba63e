import { readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { CreateInstallerPort } from '../../../core/marketplace/installers/installers.ts'
import {
  InstallerArchivePort,
  InstallerStorePort,
  MarketplaceSettingsPort,
  MarketplaceUnitOfWorkPort,
  SubscriptionStorePort,
} from '../../../core/marketplace/ports.ts'
import {
  makeRevokeSubscription,
  makeSubscriptionHistory,
} from '../../../core/marketplace/subscriptions/subscriptions.ts'
import type { Installer, InstallerProduct, Marketplace, Subscription } from '../../../core/marketplace/types.ts'
import { isOpen } from '../../../core/kernel/deployment.ts'
import { ClockPort, parseInstant } from '../../../core/kernel/clock.ts'
import { definedFields, toWireJson } from '../../../core/kernel/json.ts'
import { UsageLedgerPort } from '../../../core/marketplace/metering/ports.ts'
import type { RecordedCall, RecordedUsage, RecordFilter, UsageWords } from '../../../core/marketplace/metering/types.ts'
import { callOutcomes, usageStates } from '../../../core/marketplace/metering/types.ts'
import type { Page, PageRequest } from '../../../core/kernel/page.ts'
import { maxListRows } from '../../../core/kernel/page.ts'
import { operatorCall } from '../../part/operator.ts'
import { StartRefused } from '../../part/boot.ts'
import type { CommonOptions, ExitCode, PartContext, Ports } from '../../part/command-context.ts'
import { printable, printJson } from '../../part/command-context.ts'

export interface InstallerCreateOptions extends CommonOptions {
  readonly account?: string
  readonly product?: readonly string[]
  readonly days: string
  readonly validDays: string
  readonly contact?: string
  readonly chart?: string
  readonly chartVersion?: string
  readonly values?: string
}

/** Runs a command on the store of a marketplace deployment. */
const onMarketplace = (
  context: PartContext,
  options: CommonOptions,
  work: (ports: Ports, marketplace: Marketplace) => Promise<ExitCode>,
): Promise<ExitCode> =>
  context.onStore<ExitCode>(options, async (composition) => {
    const isMarketplace = isOpen('any-marketplace', composition.boot.deployment)
    const marketplace = isMarketplace ? composition.container.resolve(MarketplaceSettingsPort).marketplace : undefined
    if (marketplace !== undefined) return work(composition, marketplace)
    context.say('This deployment is of no marketplace: see MOORAGE_DEPLOYMENT_TYPE.')
    return 2
  })

/** Parses `NAME=FEATURE,FEATURE`. */
const productOf = (text: string): InstallerProduct => {
  const [product = '', features = ''] = text.split('=', 2)
  return { product, features: features.split(',').filter((feature) => feature !== '') }
}

const textOf = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new StartRefused([`The file ${file} cannot be read: ${(error as Error).message}`])
  }
}

/** Creates an installer, and builds its archive. */
export const installersCreate = (context: PartContext, options: InstallerCreateOptions): Promise<ExitCode> =>
  onMarketplace(context, options, async ({ container: { resolve } }) => {
    const created = await resolve(CreateInstallerPort)(operatorCall('marketplace.createInstaller'), {
      account: options.account,
      products: (options.product ?? []).map(productOf),
      contractDays: Number(options.days),
      validDays: Number(options.validDays),
      contact: options.contact ?? '',
      chart: options.chart ?? '',
      chartVersion: options.chartVersion ?? '',
      values: options.values === undefined ? '' : textOf(options.values),
    })
    if (isLeft(created)) {
      context.say(printable(created.left.message))
      return 1
    }
    const { ref, claimRef, marketplace, expiresAt, notificationUrl } = created.right
    const shown = {
      installerId: ref,
      claimID: claimRef,
      marketplace,
      expiresAt: expiresAt.toISOString(),
      notificationUrl,
    }
    if (options.json === true) printJson(context, shown)
    else {
      context.print(`installer     ${ref}`)
      context.print(`claim         ${claimRef}`)
      context.print(`marketplace   ${marketplace}`)
      context.print(`bind before   ${expiresAt.toISOString()}`)
      context.print(`bind at       ${notificationUrl}`)
    }
    return 0
  })

/** Prints a list as JSON, or one line for each item. */
const printList = async <A>(
  context: PartContext,
  options: CommonOptions,
  read: (page: PageRequest) => Promise<Page<A>>,
  shown: { readonly json: (item: A) => object; readonly line: (item: A) => string; readonly none: string },
): Promise<ExitCode> => {
  const { items, total } = await read({ page: 1, limit: maxListRows })
  if (options.json === true) printJson(context, items.map(shown.json))
  else if (items.length === 0) context.say(shown.none)
  else for (const item of items) context.print(printable(shown.line(item)))
  if (total > items.length) context.say(`${items.length} of ${total} are shown.`)
  return 0
}

const installerJson = (installer: Installer): object => ({
  installerId: installer.ref,
  marketplace: installer.marketplace,
  state: installer.binding === undefined ? 'Pending' : 'Bound',
  clusterId: installer.binding?.clusterId ?? '',
  adminUsername: installer.adminUsername,
  createdAt: installer.createdAt.toISOString(),
  expiresAt: installer.expiresAt.toISOString(),
})

const installerLine = ({ ref, binding, expiresAt }: Installer): string =>
  binding === undefined
    ? `${ref}  Pending  bind before ${expiresAt.toISOString()}`
    : `${ref}  Bound    ${binding.clusterId}`

/** Lists the installers, the newest first. */
export const installersList = (context: PartContext, options: CommonOptions): Promise<ExitCode> =>
  onMarketplace(context, options, ({ container: { resolve } }) =>
    printList(context, options, (page) => resolve(InstallerStorePort).list(page), {
      json: installerJson,
      line: installerLine,
      none: 'There are no installers.',
    }),
  )

const subscriptionJson = (subscription: Subscription): object => ({
  subscriptionId: subscription.ref,
  marketplace: subscription.marketplace,
  state: subscription.state,
  applicationId: subscription.applicationId,
  installerId: subscription.installerRef ?? '',
  clusterId: subscription.clusterId,
  contractIDs: subscription.contractIds,
  createdAt: subscription.createdAt.toISOString(),
  lastUpdatedAt: subscription.updatedAt.toISOString(),
})

/** Lists the subscriptions, the newest first. */
export const subscriptionsList = (context: PartContext, options: CommonOptions): Promise<ExitCode> =>
  onMarketplace(context, options, ({ container: { resolve } }) =>
    printList(context, options, (page) => resolve(SubscriptionStorePort).list(page), {
      json: subscriptionJson,
      line: ({ ref, state, updatedAt, clusterId }) =>
        `${ref}  ${state.padEnd(14)}  ${updatedAt.toISOString()}  ${clusterId}`,
      none: 'There are no subscriptions.',
    }),
  )

/** Shows a subscription with its history. */
export const subscriptionsShow = (context: PartContext, options: CommonOptions, ref: string): Promise<ExitCode> =>
  onMarketplace(context, options, async ({ container: { resolve } }, marketplace) => {
    const history = makeSubscriptionHistory({ subscriptions: resolve(SubscriptionStorePort) })
    const found = await history(operatorCall('marketplace.showSubscription'), { marketplace, ref })
    if (isLeft(found)) {
      context.say(printable(found.left.message))
      return 1
    }
    const { subscription, events } = found.right
    const shown = events.map(({ id: _, at, ...event }) => ({ at: at.toISOString(), ...event }))
    if (options.json === true) printJson(context, { ...subscriptionJson(subscription), history: shown })
    else {
      for (const [name, value] of Object.entries(subscriptionJson(subscription)))
        context.print(printable(`${name.padEnd(14)}  ${String(value)}`))
      for (const { at, outcome, operation, state, description } of shown)
        context.print(
          printable(`${at}  ${outcome.padEnd(9)}  ${operation.padEnd(20)}  ${state}  ${description}`.trimEnd()),
        )
    }
    return 0
  })

/** Revokes a subscription, with its contracts and licenses. */
export const subscriptionsRevoke = (context: PartContext, options: CommonOptions, ref: string): Promise<ExitCode> =>
  onMarketplace(context, options, async ({ container: { resolve } }, marketplace) => {
    const revoke = makeRevokeSubscription({
      clock: resolve(ClockPort),
      unitOfWork: resolve(MarketplaceUnitOfWorkPort),
    })
    const revoked = await revoke(operatorCall('marketplace.revokeSubscription'), { marketplace, ref })
    if (isLeft(revoked)) {
      context.say(printable(revoked.left.message))
      return 1
    }
    if (options.json === true) printJson(context, { subscriptionId: ref, revoked: true })
    else context.print(`The subscription ${printable(ref)} and its contracts are revoked.`)
    return 0
  })

/** Prints the key that verifies archives of installers. */
export const marketplaceSigningKey = (context: PartContext, options: CommonOptions): Promise<ExitCode> =>
  onMarketplace(context, options, async ({ container: { resolve } }) => {
    const publicKey = await resolve(InstallerArchivePort).publicKey()
    if (options.json === true) printJson(context, { publicKey })
    else context.print(publicKey.trimEnd())
    return 0
  })

export interface MeteringRecordOptions extends CommonOptions {
  readonly subscription?: string
  readonly since?: string
  readonly until?: string
  readonly outcome?: string
}

const instantOf = (name: string, text: string | undefined): Date | undefined => {
  const at = text === undefined ? undefined : parseInstant(text)
  if (text !== undefined && at === undefined) throw new StartRefused([`--${name} must be an RFC 3339 time.`])
  return at
}

/** Returns the filter that options name; throws for one that is not valid. */
const filterOf = <Outcome extends string>(
  { subscription: subscriptionRef, since, until, outcome }: MeteringRecordOptions,
  outcomes: readonly Outcome[],
): RecordFilter<Outcome> => {
  const known = outcomes.find((each) => each === outcome)
  if (outcome !== undefined && known === undefined)
    throw new StartRefused([`--outcome must be one of ${outcomes.join(', ')}.`])
  const times = { since: instantOf('since', since), until: instantOf('until', until) }
  return definedFields({ subscriptionRef, outcome: known, ...times })
}

const recordRows = 500

/**
 * Prints the whole list: one JSON object or one line for each row, page by page. Rows that are added later are left.
 */
const printRecord = async <A>(
  context: PartContext,
  options: CommonOptions,
  read: (page: PageRequest) => Promise<Page<A>>,
  shown: { readonly json: (row: A) => object; readonly line: (row: A) => string; readonly id: (row: A) => string },
): Promise<ExitCode> => {
  const printed = new Set<string>()
  for (let page = 1; ; page += 1) {
    const { items } = await read({ page, limit: recordRows })
    for (const row of items) {
      // A row that was added since the page before has moved others to this one.
      if (printed.has(shown.id(row))) continue
      printed.add(shown.id(row))
      context.print(options.json === true ? toWireJson(shown.json(row)) : printable(shown.line(row)))
    }
    if (items.length < recordRows) break
  }
  if (printed.size === 0 && options.json !== true) context.say('Nothing was reported.')
  return 0
}

/** The metric of cloud C has the name of the service already. */
const meteredName = ({ product, dimension }: Pick<UsageWords, 'product' | 'dimension'>): string =>
  dimension.startsWith(`${product}/`) ? dimension : `${product}/${dimension}`

const usageJson = ({ key, subscriptionRef, start, end, changedAt, ...rest }: RecordedUsage): object => ({
  usageId: key,
  subscriptionId: subscriptionRef,
  ...rest,
  start: start.toISOString(),
  end: end.toISOString(),
  lastChangedAt: changedAt.toISOString(),
})

const callJson = ({ id: _, key, subscriptionRef, at, ...rest }: RecordedCall): object => ({
  usageId: key,
  subscriptionId: subscriptionRef,
  ...rest,
  calledAt: at.toISOString(),
})

/** Lists the usage that was reported, the newest first. */
export const meteringUsage = (context: PartContext, options: MeteringRecordOptions): Promise<ExitCode> =>
  onMarketplace(context, options, ({ container: { resolve } }) => {
    const filter = filterOf(options, usageStates)
    return printRecord(context, options, (page) => resolve(UsageLedgerPort).listUsage(filter, page), {
      json: usageJson,
      line: ({ start, end, state, quantity, answer, ...usage }) =>
        `${start.toISOString()}  ${end.toISOString()}  ${state.padEnd(8)}  ${quantity.padStart(8)}  ${meteredName(usage)}  ${answer}`.trimEnd(),
      id: ({ key }) => key,
    })
  })

/** Lists the calls to the provider, the newest first. */
export const meteringCalls = (context: PartContext, options: MeteringRecordOptions): Promise<ExitCode> =>
  onMarketplace(context, options, ({ container: { resolve } }) => {
    const filter = filterOf(options, callOutcomes)
    return printRecord(context, options, (page) => resolve(UsageLedgerPort).listCalls(filter, page), {
      json: callJson,
      line: ({ at, outcome, code, quantity, askedBy, attempts, milliseconds, ...call }) =>
        `${at.toISOString()}  ${outcome.padEnd(8)}  ${code.padEnd(28)}  ${quantity.padStart(8)}  ${meteredName(call)}  ${askedBy}  ${attempts} attempts, ${milliseconds} ms`,
      id: ({ id }) => String(id),
    })
  })
