import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { UserStore } from '../identity/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import { uuidOf } from '../kernel/ids.ts'
import { definedFields, isSameSet } from '../kernel/json.ts'
import type { Mail } from '../mail/ports.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import { pageOffset } from '../kernel/page.ts'
import type { Call, SignedInCall } from '../kernel/principal.ts'
import type { AuditEntry } from '../kernel/unit-of-work.ts'
import { defineAudit } from '../kernel/unit-of-work.ts'
import { parseRecipients, parseTerms } from './contract-rules.ts'
import type {
  ContractBeginning,
  ContractEvents,
  ContractLifecycle,
  ContractSelection,
  ContractStore,
  ContractStores,
  ContractUnitOfWork,
} from './ports.ts'
import { ContractMissing } from './ports.ts'
import type {
  ChangedTerms,
  Contract,
  ContractEmails,
  ContractEvent,
  ContractEventName,
  ContractId,
  ContractTerms,
  TermsVersion,
} from './types.ts'
import { emailLists } from './types.ts'
import { contractEventNames } from './types.ts'

type RecordedContract = Pick<Contract, 'id' | 'name' | 'ownerId'>

const auditOf = defineAudit('contract', contractEventNames, ({ id, name, ownerId }: RecordedContract) => ({
  objectId: id,
  objectName: name,
  tenantId: ownerId,
}))

/** One change to a contract: what happened, and who caused it. */
export interface ContractChange {
  readonly event: ContractEventName
  /** The mail address of the user, or the name of the job. */
  readonly by: string
  readonly at: Date
  readonly changes?: AuditEntry['changes']
  /** Of a change of the terms. */
  readonly terms?: ChangedTerms
}

/** Records a change in the history of the contract and in the audit log of its owner. */
export const recordEvent = async (
  { events, audit }: Pick<ContractStores, 'events' | 'audit'>,
  contract: RecordedContract,
  { event, by, at, changes, terms }: ContractChange,
): Promise<void> => {
  await events.record(contract.id, event, by, at, terms)
  await audit.record(auditOf(contract, event, changes))
}

/**
 * Records that clusters were bound: once in the history of the contract, and in the audit log for each cluster, which
 * has its UID.
 */
export const recordBound = async (
  { events, audit }: Pick<ContractStores, 'events' | 'audit'>,
  contract: RecordedContract,
  { by, at, clusters }: Pick<ContractChange, 'by' | 'at'> & { readonly clusters: readonly string[] },
): Promise<void> => {
  await events.record(contract.id, 'cluster.added', by, at)
  for (const cluster of clusters) await audit.record(auditOf(contract, 'cluster.added', { cluster }))
}

/** Returns the mail address under which the history of contracts shows the caller; the login if there is none. */
export const makeAddressOf =
  (users: Pick<UserStore, 'byId'>) =>
  async ({ principal }: SignedInCall<never>): Promise<string> => {
    const user = await users.byId(principal.userId)
    return user === undefined || user.primaryEmail === '' ? principal.login : user.primaryEmail
  }

/** A contract as a request names it. */
export interface ContractKey {
  readonly ownerId: AccountId
  readonly id: ContractId
}

const missing = (id: ContractId): Failure<'ContractMissing'> => ContractMissing(`The contract ${id} does not exist.`)

export interface ListContractsInput {
  readonly ownerId: AccountId
  /** All contracts, or only those in force. */
  readonly activeOnly: boolean
  readonly offlineOnly: boolean
  /** Its UID is in lower case. */
  readonly cluster?: { readonly uid: string; readonly bound: 'with' | 'without' }
  readonly page: PageRequest
}

/** Returns contracts of an account, the newest start first. */
export const makeListContracts =
  ({ contracts, clock }: { readonly contracts: Pick<ContractStore, 'listOf'>; readonly clock: Clock }) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, activeOnly, offlineOnly, cluster, page }: ListContractsInput,
  ): Outcome<never, Page<Contract>> => {
    const selection: ContractSelection = definedFields({
      activeAt: activeOnly ? clock.now() : undefined,
      allowsOffline: offlineOnly ? true : undefined,
      cluster,
    })
    return right(await contracts.listOf(ownerId, selection, page))
  }

/** Returns a contract of an account. */
export const makeGetContract =
  ({ contracts }: { readonly contracts: Pick<ContractStore, 'get'> }) =>
  async (_call: SignedInCall<never>, { ownerId, id }: ContractKey): Outcome<Failure<'ContractMissing'>, Contract> => {
    const contract = await contracts.get(ownerId, id)
    return contract === undefined ? left(missing(id)) : right(contract)
  }

/** Returns the history of a contract that authorization found, in the order of events. */
export const makeListContractEvents =
  ({ events }: { readonly events: Pick<ContractEvents, 'listOf'> }) =>
  async (
    _call: SignedInCall<never>,
    { id, page }: ContractKey & { readonly page: PageRequest },
  ): Outcome<never, Page<ContractEvent>> =>
    right(await events.listOf(id, page))

/** Returns the versions of the terms of a contract that authorization found, by number. */
export const makeListTerms =
  ({ contracts }: { readonly contracts: Pick<ContractStore, 'listTerms'> }) =>
  async (
    _call: SignedInCall<never>,
    { id, page }: ContractKey & { readonly page: PageRequest },
  ): Outcome<never, Page<TermsVersion>> => {
    const versions = await contracts.listTerms(id)
    const from = pageOffset(page)
    return right({ items: versions.slice(from, from + page.limit), total: versions.length })
  }

export interface PreferencesInput extends ContractKey {
  /** Undefined: unchanged. */
  readonly bindsNewClusters: boolean | undefined
  /** Who receives alerts about usage; undefined: unchanged. */
  readonly usageAlertClient: readonly string[] | undefined
}

interface PreferencesDeps {
  readonly clock: Clock
  readonly unitOfWork: ContractUnitOfWork
  readonly users: Pick<UserStore, 'byId'>
}

type PreferencesFailure = Failure<'ContractMissing'> | Failure<'ContractRequestInvalid'>

/** Changes what the owner of a contract decides about it, also of a revoked one. */
export const makeUpdatePreferences = ({ clock, unitOfWork, users }: PreferencesDeps) => {
  const addressOf = makeAddressOf(users)
  return async (call: SignedInCall<Contract>, input: PreferencesInput): Outcome<PreferencesFailure, Contract> => {
    const { ownerId, id } = input
    const recipients = input.usageAlertClient === undefined ? right(undefined) : parseRecipients(input.usageAlertClient)
    if (isLeft(recipients)) return recipients
    const by = await addressOf(call)
    return unitOfWork.run<PreferencesFailure, Contract>(call, async (stores) => {
      const [contract] = await stores.contracts.lock(ownerId, [id])
      if (contract === undefined) return left(missing(id))
      const { bindsNewClusters = contract.bindsNewClusters } = input
      const usageAlertClient = recipients.right ?? contract.emails.usageAlertClient
      if (
        bindsNewClusters === contract.bindsNewClusters &&
        isSameSet(usageAlertClient, contract.emails.usageAlertClient)
      )
        return right(contract)
      const at = clock.now()
      const changed = {
        ...contract,
        bindsNewClusters,
        emails: { ...contract.emails, usageAlertClient },
        version: contract.version + 1,
      }
      await stores.contracts.setDetails(id, changed, at)
      const changes = { autoAssignCluster: bindsNewClusters, usageAlertClient: usageAlertClient.length }
      await recordEvent(stores, contract, { event: 'preferences.updated', by, at, changes })
      return right(changed)
    })
  }
}

/**
 * How many days before the end a contract's people are reminded, the last reminder first: it makes the earlier one
 * unnecessary.
 */
const reminderDays = [10, 45] as const
type ReminderDays = (typeof reminderDays)[number]
const batch = 100

/** Returns everyone whom the contract names, each once, the first spelling of an address. */
const recipientsOf = (emails: ContractEmails): readonly string[] => {
  const named = emailLists.flatMap((list) => emails[list])
  return [...new Map(named.toReversed().map((address) => [address.toLowerCase(), address])).values()].toReversed()
}

/** A contract that is shorter than the period of a reminder needs none: its end was near from the beginning. */
const isShorterThan = ({ startsAt, endsAt }: Contract, days: ReminderDays): boolean =>
  laterByDays(startsAt, days).getTime() > endsAt.getTime()

const mailTo = (to: string, { name, product, ownerId, ownerName, endsAt }: Contract, days: ReminderDays): Mail => ({
  to,
  subject: `The contract "${name.replace(/\p{Cc}/gu, ' ')}" ends within ${days} days`,
  paragraphs: [
    `The contract "${name}" of ${ownerName} for the product ${product} ends at ${endsAt.toISOString()}. ` +
      'Licenses of its clusters are not valid after that.',
    'To go on using the product, extend the contract in time and issue the licenses again.',
  ],
  accountId: ownerId,
})

/**
 * Reminds the people of contracts by mail that these end, 45 and 10 days before. Returns the number of contracts that
 * were due; run it until that is 0. The mails are posted in the transaction that records the reminder, so that none is
 * sent twice, even by concurrent runs.
 */
export const makeRemindOfEnds =
  ({ unitOfWork, clock }: { readonly unitOfWork: ContractUnitOfWork; readonly clock: Clock }) =>
  async (call: Call): Promise<number> => {
    const reminded = await unitOfWork.run<never, number>(call, async ({ contracts, mail }) => {
      const now = clock.now()
      let due = 0
      for (const days of reminderDays) {
        for (const contract of await contracts.listToRemind(days, now, laterByDays(now, days), batch)) {
          due += 1
          if (!(await contracts.markReminded(contract, days, now))) continue
          if (days === 10) await contracts.markReminded(contract, 45, now)
          if (isShorterThan(contract, days)) continue
          for (const to of recipientsOf(contract.emails)) await mail.post(mailTo(to, contract, days))
        }
      }
      return right(due)
    })
    return isRight(reminded) ? reminded.right : 0
  }

type LifecycleStores = Pick<ContractStores, 'contracts' | 'bindings' | 'events' | 'licenses' | 'audit'>

const parsed = (
  { name, product, features, days }: Pick<ContractBeginning, 'name' | 'product' | 'features' | 'days'>,
  from: Date,
) => parseTerms({ name, product, features, startsAt: from, endsAt: laterByDays(from, days) }, undefined)

/** Returns the beginning and the end of contracts on stores that are bound to one transaction. */
export const makeContractLifecycle = (stores: LifecycleStores, clock: Clock): ContractLifecycle => {
  const termsOf = (beginning: ContractBeginning, at: Date): ContractTerms => {
    const terms = parsed(beginning, at)
    if (isLeft(terms)) throw new Error(`The terms of a contract were checked and are not valid: ${terms.left.message}`)
    return terms.right
  }
  return {
    faultOf(beginning) {
      const terms = parsed(beginning, clock.now())
      return isLeft(terms) ? terms.left.message : undefined
    },
    async begin(beginning, by) {
      const { ownerId, product } = beginning
      const at = clock.now()
      const terms = termsOf(beginning, at)
      const id = await stores.contracts.insert(ownerId, terms, at, by)
      const contract = { id, ownerId, name: terms.name }
      const changes = { product, start: at.toISOString(), end: terms.endsAt.toISOString() }
      await recordEvent(stores, contract, { event: 'contract.created', by, at, changes })
      const clusterUid = uuidOf(beginning.clusterUid)
      if (clusterUid === undefined) return id
      await stores.bindings.add(contract, [{ clusterUid, displayName: clusterUid }], at)
      await recordBound(stores, contract, { by, at, clusters: [clusterUid] })
      return id
    },
    async revoke(ids, by) {
      const at = clock.now()
      const revoked = []
      for (const id of [...ids].sort((a, b) => a - b)) {
        const known = await stores.contracts.getAny(id)
        const [contract] = known === undefined ? [] : await stores.contracts.lock(known.ownerId, [id])
        if (contract === undefined || contract.revokedAt !== undefined) continue
        await stores.contracts.revoke(id, at)
        await stores.licenses.revokeOf(id, at)
        await recordEvent(stores, contract, { event: 'contract.revoked', by, at })
        revoked.push(id)
      }
      return revoked
    },
  }
}
