import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock, Pause } from '../kernel/clock.ts'
import { laterBySeconds } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'
import { isSameJson, toWireJson } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Entropy, Secret, SecretBox } from '../kernel/secret.ts'
import { hex, secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type {
  Dashboard,
  DashboardSystem,
  DashboardSystems,
  MetricsBackends,
  MetricsConfig,
  MetricsSettings,
  MetricsTargets,
  Placement,
  ProxyTokens,
  Registered,
  Registration,
  RegistrationChange,
  RegistrationStore,
  RegistrationStores,
  TenantDirectory,
} from './ports.ts'
import { DashboardOff, MetricsRefused, RegistrationBusy } from './ports.ts'
import type { MetricsContext, SentMetrics, Subject, SubjectFailure } from './requests.ts'
import { identifierText, makeFindSubject, metricsOf, tenantName } from './requests.ts'

const auditOf = defineAudit(
  'metrics_registration',
  ['metrics_registration.registered', 'metrics_registration.unregistered'],
  ({ id, backend, ownerId }: Pick<Registration, 'id' | 'backend' | 'ownerId'>) => ({
    objectId: id,
    objectName: backend,
    tenantId: ownerId,
  }),
)

/** Longer than a change takes: the requests of one to other systems are bounded to less. */
const leaseSeconds = 90
/** In milliseconds: how long a request waits for another one with the same registration, and how often it looks. */
const [longestWait, lookEvery] = [20_000, 200]

export interface RegistrationDeps {
  readonly tenants: TenantDirectory
  readonly registrations: RegistrationStore
  readonly unitOfWork: UnitOfWork<RegistrationStores>
  readonly systems: DashboardSystems
  readonly backends: MetricsBackends
  readonly targets: MetricsTargets
  readonly tokens: ProxyTokens
  readonly settings: MetricsSettings
  readonly secretBox: SecretBox
  readonly entropy: Entropy
  readonly clock: Clock
  readonly pause: Pause
}

/** What is registered at one dashboard system. A change of any field is a change of the registration. */
interface Content {
  readonly metrics: MetricsConfig
  readonly title: string
  readonly url: string
  readonly isDefault: boolean
  readonly dashboardUrl: string
}
type Contents = Partial<Record<Dashboard, Content>>

const placeOf = (tenantId: AccountId, ref: string) => ({
  table: 'metrics_registrations',
  column: 'sealed_contents',
  tenantId,
  rowRef: ref,
})

const sealContents = async (deps: RegistrationDeps, tenantId: AccountId, contents: Contents) => {
  const ref = hex(deps.entropy.bytes(16))
  return { ref, sealedContents: await deps.secretBox.seal(secret(toWireJson(contents)), placeOf(tenantId, ref)) }
}

const openContents = async ({ secretBox }: RegistrationDeps, of: Registration | undefined): Promise<Contents> => {
  if (of === undefined) return {}
  return JSON.parse((await secretBox.open(of.sealedContents, placeOf(of.tenantId, of.ref))).reveal()) as Contents
}

/** The system and the address of the backend at the proxy. Failure: DashboardOff. */
const systemOf = (
  { systems, settings }: RegistrationDeps,
  dashboard: Dashboard,
): Either<Failure<'DashboardOff'>, { readonly system: DashboardSystem; readonly proxyUrl: string }> => {
  const system = systems[dashboard]
  const { proxyUrl } = settings
  if (system !== undefined && proxyUrl !== undefined) return right({ system, proxyUrl })
  return left(DashboardOff('This installation has no dashboard system of this kind, or no metrics proxy.'))
}

/** A registration that this request alone may change, until its lease ends. */
interface Leased {
  readonly id: number
  readonly version: number
  readonly registration: Registration
}

/** Keeps the changes of a leased registration in order. */
const makeHolder = ({ registrations, clock }: RegistrationDeps, leased: Leased) => {
  let { version, registration } = leased
  const holder = {
    id: leased.id,
    current: () => registration,
    version: () => version,
    /** Makes the last change, in a transaction that may run again. Returns false if the lease was lost. */
    changed: (change: Partial<RegistrationChange>, store: RegistrationStore): Promise<boolean> =>
      store.change(leased.id, version, { ...registration, ...change }, clock.now()),
    /** Makes a change that others follow. Failure: RegistrationBusy, if the lease was lost. */
    async save(change: Partial<RegistrationChange>): Outcome<Failure<'RegistrationBusy'>, void> {
      if (!(await holder.changed(change, registrations))) return left(busy())
      version += 1
      registration = { ...registration, ...change }
      return right(undefined)
    },
    registered: (dashboard: Dashboard): Registered =>
      registration.dashboards[dashboard] ?? { isReady: false, placement: undefined, proxyTokens: [] },
    withRegistered: (dashboard: Dashboard, change: Partial<Registered>): Registration['dashboards'] => ({
      ...registration.dashboards,
      [dashboard]: { ...holder.registered(dashboard), ...change },
    }),
  }
  return holder
}
type Holder = ReturnType<typeof makeHolder>

const busy = (): Failure<'RegistrationBusy'> =>
  RegistrationBusy('Another request changes the same registration. Send this one again.')

/**
 * Waits until no other request changes the registration, and looks at it. `decide` ends the wait with a result; or
 * takes the registration, and is asked again if another request was faster.
 */
const untilFree = async <A>(
  { registrations, clock, pause }: RegistrationDeps,
  call: SignedInCall<never>,
  backend: string,
  dashboard: Dashboard,
  decide: (found: Awaited<ReturnType<RegistrationStore['find']>>, at: Date) => Promise<A | undefined>,
): Outcome<Failure<'RegistrationBusy'>, A> => {
  const end = clock.now().getTime() + longestWait
  for (;;) {
    const at = clock.now()
    const found = await registrations.find(backend, dashboard, at)
    const { leasedUntil } = found?.registration ?? {}
    if (leasedUntil === undefined || leasedUntil.getTime() <= at.getTime()) {
      const decided = await decide(found, at)
      if (decided !== undefined) return right(decided)
    }
    if (call.signal.aborted || at.getTime() >= end) return left(busy())
    await pause(lookEvery, call.signal)
  }
}

/** Carries out a change, and ends the lease if it fails; the registration then counts as not ready. */
const whileLeased = async <F extends Failure, A>(
  holder: Holder,
  work: () => Outcome<F, A>,
): Outcome<F | Failure<'RegistrationBusy'>, A> => {
  let isDone = false
  try {
    const outcome = await work()
    isDone = !isLeft(outcome)
    return outcome
  } finally {
    if (!isDone) await holder.save({ leasedUntil: undefined })
  }
}

export interface RegisterInput {
  readonly dashboard: Dashboard
  readonly context: MetricsContext
  readonly metrics: SentMetrics
  /** The name of the account, if several have the cluster. */
  readonly org: string | undefined
}

export interface RegisteredDatasource {
  readonly url: string
  /** Given out by the request that issued it, and never again. */
  readonly token: Secret | undefined
  readonly placement: Placement
}

export type UnregisterFailure = SubjectFailure | Failure<'DashboardOff' | 'DashboardFailed' | 'RegistrationBusy'>
export type RegisterFailure = UnregisterFailure

export type Register = (
  call: SignedInCall<RegisteredDatasource>,
  input: RegisterInput,
) => Outcome<RegisterFailure, RegisteredDatasource>

const titleOf = ({ tenant, identifier }: Subject): string =>
  identifier.projectId === undefined ? tenant.name : `${tenant.name} ${identifier.projectId}`

/** Registers or changes the datasource, as the only request that does so. */
const place = async (
  deps: RegistrationDeps,
  call: SignedInCall<RegisteredDatasource>,
  holder: Holder,
  { tenant }: Subject,
  { dashboard, context }: RegisterInput,
  content: Content,
  system: DashboardSystem,
): Outcome<RegisterFailure, RegisteredDatasource> => {
  const { backend } = holder.current()
  const before = holder.registered(dashboard)
  const issued = await deps.tokens.issue(call, tenant.context, `metrics proxy ${dashboard} ${backend}`)
  if (isLeft(issued)) return issued
  const { ref: newToken, value: proxyToken } = issued.right
  // Changes that fail again and again must not gather tokens: the newest and the oldest may be in use.
  const [newest, ...earlier] = before.proxyTokens
  const former = [newest, earlier.at(-1)].filter((each) => each !== undefined)
  const kept = await holder.save({
    dashboards: holder.withRegistered(dashboard, { proxyTokens: [newToken, ...former] }),
  })
  await deps.tokens.revoke(call, isLeft(kept) ? [newToken] : earlier.slice(0, -1))
  if (isLeft(kept)) return kept
  const told = await deps.backends.put(backend, content.metrics, call.signal)
  if (isLeft(told)) return told
  const wanted = {
    backend,
    tenantName: tenantName(tenant.context.accountId),
    title: content.title,
    url: content.url,
    proxyToken,
    isDefault: content.isDefault,
    issuesToken: context.issueToken || (before.placement?.issuedToken ?? '') === '',
    formerToken: before.placement?.issuedToken ?? '',
  }
  const placed = await system.put(wanted, call.signal)
  if (isLeft(placed)) return placed
  await deps.tokens.revoke(call, former)
  const { placement, token } = placed.right
  return deps.unitOfWork.run<RegisterFailure, RegisteredDatasource>(call, async ({ registrations, audit }) => {
    const dashboards = holder.withRegistered(dashboard, { isReady: true, placement, proxyTokens: [newToken] })
    if (!(await holder.changed({ dashboards, leasedUntil: undefined }, registrations))) return left(busy())
    await audit.record(
      auditOf({ ...holder.current(), id: holder.id }, 'metrics_registration.registered', {
        dashboard,
        issued_token: token !== undefined,
      }),
    )
    return right({ url: system.url, token, placement })
  })
}

/**
 * Registers the metrics of a cluster at a dashboard system. A registration that changes nothing takes two queries, and
 * asks no other system. At most one request at a time changes a registration; others wait for it. A change that failed
 * half-way can be repeated.
 */
export const makeRegister = (deps: RegistrationDeps): Register => {
  const findSubject = makeFindSubject(deps)
  return async (call, input) => {
    const { dashboard, context, org } = input
    const subject = await findSubject(call, context, org)
    if (isLeft(subject)) return subject
    const using = systemOf(deps, dashboard)
    if (isLeft(using)) return using
    const { system, proxyUrl } = using.right
    const metrics = metricsOf(input.metrics, subject.right.cluster.endpoint)
    if (isLeft(metrics)) return metrics
    const { identifier, cluster } = subject.right
    const backend = identifierText(identifier)
    const content: Content = {
      metrics: metrics.right,
      title: titleOf(subject.right),
      url: `${proxyUrl}/${backend}`,
      isDefault: context.default,
      dashboardUrl: system.url,
    }
    const taken = await untilFree(deps, call, backend, dashboard, async (found, at) => {
      const contents = await openContents(deps, found?.registration)
      const registered = found?.registration.dashboards[dashboard]
      const isSame = isSameJson(contents[dashboard], JSON.parse(toWireJson(content)) as FreeObject)
      if (found?.hasToken === true && registered?.isReady === true && isSame && !context.issueToken)
        return registered.placement
      const refused = await refusedTarget(deps, input.metrics, metrics.right)
      if (refused !== undefined) return refused
      const row = {
        backend,
        ownerId: cluster.context.accountId,
        tenantId: identifier.ownerId,
        clusterUid: identifier.clusterUid,
        ...(await sealContents(deps, identifier.ownerId, { ...contents, [dashboard]: content })),
        dashboards: {
          ...found?.registration.dashboards,
          [dashboard]: { placement: undefined, proxyTokens: [], ...registered, isReady: false },
        },
        leasedUntil: laterBySeconds(at, leaseSeconds),
      }
      return takeRow(deps, found?.registration, row, at)
    })
    if (isLeft(taken)) return taken
    if ('datasource' in taken.right) return right({ url: system.url, token: undefined, placement: taken.right })
    if ('tag' in taken.right) return left(taken.right)
    const holder = makeHolder(deps, taken.right)
    return whileLeased(holder, () => place(deps, call, holder, subject.right, input, content, system))
  }
}

/** An address of the cluster's own API server was judged when the cluster was imported. */
const refusedTarget = async (
  { targets }: RegistrationDeps,
  sent: SentMetrics,
  { url }: MetricsConfig,
): Promise<Failure<'MetricsRefused'> | undefined> => {
  const refused = sent.service === undefined ? await targets.refusal(new URL(url)) : undefined
  return refused === undefined ? undefined : MetricsRefused(`metrics.url: ${refused}`)
}

/** Inserts the row, or changes the one that was found. Returns undefined if another request was faster. */
const takeRow = async (
  { registrations }: RegistrationDeps,
  found: Registration | undefined,
  row: Omit<Registration, 'id' | 'version'>,
  at: Date,
): Promise<Leased | undefined> => {
  if (found === undefined) {
    const id = await registrations.insert(row, at)
    return id === undefined ? undefined : { id, version: 1, registration: { ...row, id, version: 1 } }
  }
  const { id, version, ownerId } = found
  const registration = { ...row, ownerId, id, version: version + 1 }
  return (await registrations.change(id, version, registration, at))
    ? { id, version: version + 1, registration }
    : undefined
}

export interface UnregisterInput {
  readonly dashboard: Dashboard
  readonly context: MetricsContext
  readonly org: string | undefined
}

export type Unregister = (call: SignedInCall<void>, input: UnregisterInput) => Outcome<UnregisterFailure, void>

/**
 * Removes a registration from a dashboard system: the datasource, its tokens, and the backend of the proxy if no other
 * dashboard system has it. One that does not exist counts as removed.
 */
export const makeUnregister = (deps: RegistrationDeps): Unregister => {
  const findSubject = makeFindSubject(deps)
  return async (call, { dashboard, context, org }) => {
    const subject = await findSubject(call, context, org)
    if (isLeft(subject)) return subject
    const backend = identifierText(subject.right.identifier)
    const taken = await untilFree(deps, call, backend, dashboard, async (found, at) => {
      if (found?.registration.dashboards[dashboard] === undefined) return 'none'
      const { registration } = found
      const row = { ...registration, leasedUntil: laterBySeconds(at, leaseSeconds) }
      const dashboards = { ...row.dashboards, [dashboard]: { ...row.dashboards[dashboard], isReady: false } }
      return takeRow(deps, registration, { ...row, dashboards } as Registration, at)
    })
    if (isLeft(taken)) return taken
    if (taken.right === 'none') return right(undefined)
    const using = systemOf(deps, dashboard)
    const holder = makeHolder(deps, taken.right)
    return whileLeased(holder, () =>
      isLeft(using) ? Promise.resolve(using) : withdraw(deps, call, holder, dashboard, using.right.system),
    )
  }
}

/** Removes the datasource, as the only request that changes the registration. */
const withdraw = async (
  deps: RegistrationDeps,
  call: SignedInCall<void>,
  holder: Holder,
  dashboard: Dashboard,
  system: DashboardSystem,
): Outcome<UnregisterFailure, void> => {
  const { backend, tenantId } = holder.current()
  const { placement, proxyTokens } = holder.registered(dashboard)
  const formerToken = placement?.issuedToken ?? ''
  const removed = await system.remove({ backend, tenantName: tenantName(tenantId), formerToken }, call.signal)
  if (isLeft(removed)) return removed
  await deps.tokens.revoke(call, proxyTokens)
  const { [dashboard]: _, ...others } = holder.current().dashboards
  const isLast = Object.keys(others).length === 0
  const gone = isLast ? await deps.backends.remove(backend, call.signal) : right(undefined)
  if (isLeft(gone)) return gone
  const { [dashboard]: _content, ...contents } = await openContents(deps, holder.current())
  const sealed = await sealContents(deps, tenantId, contents)
  return deps.unitOfWork.run<UnregisterFailure, void>(call, async ({ registrations, audit }) => {
    const isDone = isLast
      ? await registrations.remove(holder.id, holder.version())
      : await holder.changed({ ...sealed, dashboards: others, leasedUntil: undefined }, registrations)
    if (!isDone) return left(busy())
    await audit.record(
      auditOf({ ...holder.current(), id: holder.id }, 'metrics_registration.unregistered', { dashboard }),
    )
    return right(undefined)
  })
}
