import type { AccountId } from '../kernel/ids.ts'
import type { AccountClaims, BusIdentityKind, BusPurpose, BusRights, busPurposes, SentSubject } from './types.ts'

/** Subjects on which the service tells how a task goes: `natjobs.resp.<tenant>.<responseId>`. */
const progressOfAll = 'natjobs.resp.*.*'
/** Subjects of notifications for people: `notifications.<tenant>`. */
const notificationsOfAll = 'notifications.*'
/** Subjects on which clusters report changes of their resources. */
const historyOfAll = 'clusters.*.resources.>'

/** Returns an account's id as one token of a subject: it contains no dot. */
const tenantOf = (ownerId: AccountId): string => String(ownerId)

const own: BusRights = { publish: [], subscribe: ['natjobs.resp.>', 'notifications', '_INBOX.>'] }

/**
 * The rights of each kind of credentials. Those of the platform's account get no inboxes, because inboxes are shared
 * there.
 */
const rightsOfPurposes: Readonly<Record<(typeof busPurposes)[number], BusRights>> = {
  own,
  pass: own,
  admin: { publish: ['>'], subscribe: ['>'] },
  progress: { publish: [], subscribe: [progressOfAll, notificationsOfAll] },
  history: { publish: [], subscribe: [historyOfAll] },
}

const ownRights: ReadonlyMap<string, BusRights> = new Map(Object.entries(rightsOfPurposes))

/** Returns the rights of credentials. Throws for a purpose that neither the bus nor a subject has. */
export const rightsOf = (purpose: BusPurpose, sent: readonly SentSubject[]): BusRights => {
  const own = ownRights.get(purpose)
  if (own !== undefined) return own
  const publish = sent.filter((each) => each.purpose === purpose).map(({ subject }) => subject)
  if (publish.length === 0) throw new Error(`No credentials of the bus have the purpose ${purpose}.`)
  return { publish, subscribe: ['_INBOX.>'] }
}

/** Returns the kind of account that credentials of a purpose belong to. */
export const accountOf = (purpose: BusPurpose): 'account' | 'platform' =>
  ['admin', 'progress', 'history'].includes(purpose) ? 'platform' : 'account'

const maxConnectionsOfAccount = 100

/**
 * Returns the claims of an account, without revocations. An owner's account sees its own tenant, without the tenant in
 * the subject.
 */
export const claimsFor = (
  identity: {
    readonly kind: BusIdentityKind
    readonly ownerId: AccountId | undefined
    readonly closedAt: Date | undefined
  },
  sent: readonly SentSubject[],
): Omit<AccountClaims, 'revocations'> => {
  if (identity.kind !== 'account' || identity.ownerId === undefined) {
    const isPlatform = identity.kind === 'platform'
    return {
      name: isPlatform ? 'platform' : 'system',
      imports: [],
      exports: isPlatform ? [progressOfAll, notificationsOfAll] : [],
      sends: [],
      receives: isPlatform ? sent.map(({ subject }) => `${subject}.*`) : [],
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
    sends:
      identity.closedAt === undefined ? sent.map(({ subject }) => ({ on: subject, to: `${subject}.${tenant}` })) : [],
    receives: [],
    maxConnections: maxConnectionsOfAccount,
    hasStreams: false,
  }
}
