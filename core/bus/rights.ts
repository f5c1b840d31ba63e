import type { AccountId } from '../kernel/ids.ts'
import type { AccountClaims, BusIdentityKind, BusPurpose, BusRights } from './types.ts'

/** Subjects on which the service tells how a task goes: `natjobs.resp.<tenant>.<responseId>`. */
const progressOfAll = 'natjobs.resp.*.*'
/** Subjects of notifications for people: `notifications.<tenant>`. */
const notificationsOfAll = 'notifications.*'
/** Subjects on which clusters report changes of their resources. */
const historyOfAll = 'clusters.*.resources.>'

/** The subject on which a program reports usage in its own account. */
const usageEvents = 'usage.events'
/**
 * The same in the platform's account: `usage.events.<tenant>`. The claims of the sender's account set the tenant, not
 * the sender.
 */
export const usageEventsOfAll = 'usage.events.*'

/** Messages that cannot be recorded yet, in the platform's account: `usage.aside.<tenant>`. */
export const usageEventsAside = 'usage.aside.*'

/** Returns the account that sent a message with events; undefined if the subject is of something else. */
export const usageSender = (subject: string): AccountId | undefined => {
  const id = /^usage\.(?:events|aside)\.([1-9]\d{0,15})$/.exec(subject)?.[1]
  return id === undefined ? undefined : (Number(id) as AccountId)
}

/** Returns an account's id as one token of a subject: it contains no dot. */
const tenantOf = (ownerId: AccountId): string => String(ownerId)

const own: BusRights = { publish: [], subscribe: ['natjobs.resp.>', 'notifications', '_INBOX.>'] }

/**
 * The rights of each kind of credentials. Those of the platform's account get no inboxes, because inboxes are shared
 * there.
 */
export const rightsOf: Readonly<Record<BusPurpose, BusRights>> = {
  own,
  pass: own,
  admin: { publish: ['>'], subscribe: ['>'] },
  progress: { publish: [], subscribe: [progressOfAll, notificationsOfAll] },
  history: { publish: [], subscribe: [historyOfAll] },
  usage: { publish: [usageEvents], subscribe: ['_INBOX.>'] },
}

/** Returns the kind of account that credentials of a purpose belong to. */
export const accountOf = (purpose: BusPurpose): 'account' | 'platform' =>
  purpose === 'own' || purpose === 'pass' || purpose === 'usage' ? 'account' : 'platform'

const maxConnectionsOfAccount = 100

/**
 * Returns the claims of an account, without revocations. An owner's account sees its own tenant, without the tenant in
 * the subject.
 */
export const claimsFor = (identity: {
  readonly kind: BusIdentityKind
  readonly ownerId: AccountId | undefined
  readonly closedAt: Date | undefined
}): Omit<AccountClaims, 'revocations'> => {
  if (identity.kind !== 'account' || identity.ownerId === undefined) {
    const isPlatform = identity.kind === 'platform'
    return {
      name: isPlatform ? 'platform' : 'system',
      imports: [],
      exports: isPlatform ? [progressOfAll, notificationsOfAll] : [],
      sends: [],
      receives: isPlatform ? [usageEventsOfAll] : [],
      maxConnections: undefined,
      hasStreams: isPlatform,
    }
  }
  const tenant = tenantOf(identity.ownerId)
  const imports = [
    { from: `natjobs.resp.${tenant}.*`, as: 'natjobs.resp.$1' },
    { from: `notifications.${tenant}`, as: 'notifications' },
  ]
  return {
    name: `account-${tenant}`,
    imports: identity.closedAt === undefined ? imports : [],
    exports: [],
    sends: identity.closedAt === undefined ? [{ on: usageEvents, to: `${usageEvents}.${tenant}` }] : [],
    receives: [],
    maxConnections: maxConnectionsOfAccount,
    hasStreams: false,
  }
}
