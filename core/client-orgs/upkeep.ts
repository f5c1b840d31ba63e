import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, OwnSpokes } from '../clusters/hubs/ports.ts'
import type { ClusterConnections, ClusterStore, CredentialSealer } from '../clusters/ports.ts'
import type { Cluster, ClusterConnection } from '../clusters/types.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import type { Call } from '../kernel/principal.ts'
import { listOtherCredentials, removeAccount, writeAccountBasis, writeAccounts } from './accounts.ts'
import { presentNamespaces } from './client-objects.ts'
import { issuedCredential, noOthers, othersText } from './cluster-steps.ts'
import { ClientObjectBlocked, recordOfSpoke } from './places.ts'
import type { ClientOrgStore, ClientOrgUnitOfWork, MemberAccount, OwnedCluster } from './ports.ts'
import type { ClientClusterId, MemberAccountId } from './types.ts'
import { accountLayout, auditOf, namespacesOf } from './types.ts'

/** How many clusters and accounts are read at a time. */
const batch = 50
/** How long the work on one cluster may take. */
const clusterMs = 60_000

export interface UpkeepDeps {
  readonly clientOrgs: ClientOrgStore
  readonly clusters: Pick<ClusterStore, 'findByUid'>
  readonly connections: ClusterConnections
  readonly log: Log
  readonly seal: CredentialSealer
  readonly spokes: OwnSpokes
  readonly unitOfWork: ClientOrgUnitOfWork
}

interface Opened {
  readonly spoke: Hub
  readonly record: Cluster
  readonly connection: ClusterConnection
}

/** Opens a cluster by the record of the owner of its hub. */
const openOwn = async (deps: UpkeepDeps, { cluster }: OwnedCluster, signal: AbortSignal): Outcome<Failure, Opened> => {
  const record = await recordOfSpoke(deps, cluster)
  if (record === undefined) return left(ClientObjectBlocked(`The owner of the hub has no record of ${cluster.name}.`))
  const connection = await deps.connections.open(record.id, record.version)
  if (isLeft(connection)) return connection
  const until = AbortSignal.any([signal, AbortSignal.timeout(clusterMs)])
  return right({ spoke: deps.spokes.open(connection.right, until), record, connection: connection.right })
}

/**
 * Gives the members of a client organization an account each on a cluster where they shared one, replaces the credential
 * of its record, and removes the shared account with its token. Returns which other credentials were found.
 */
const renewAccounts = async (
  deps: UpkeepDeps,
  call: Call,
  owned: OwnedCluster,
): Outcome<Failure, readonly string[]> => {
  const { cluster, clientOrg } = owned
  const opened = await openOwn(deps, owned, call.signal)
  if (isLeft(opened)) return opened
  const { spoke, connection } = opened.right
  const basis = await writeAccountBasis(spoke, clientOrg, cluster.plan)
  if (isLeft(basis)) return basis
  const sealed = await deps.seal(clientOrg.orgId, issuedCredential(connection.credential, cluster))
  // The record comes first: members have no connection without it, while the shared token is removed.
  const replaced = await deps.unitOfWork.run<Failure, void>(call, async ({ clusters }) => {
    const known = await clusters.find(clientOrg.orgId, cluster.name)
    if (known === undefined || known.uid !== cluster.uid) return right(undefined)
    const changed = await clusters.change(known.id, known.version, { sealed })
    return isLeft(changed) ? changed : right(undefined)
  })
  if (isLeft(replaced)) return replaced
  const members = await deps.clientOrgs.accountsOf(cluster.id)
  const written = await writeAccounts(spoke, clientOrg, cluster.plan, members)
  if (isLeft(written)) return written
  const others = await listOtherCredentials(spoke, namespacesOf(clientOrg.name, cluster.plan))
  if (isLeft(others)) return others
  return deps.unitOfWork.run<Failure, readonly string[]>(call, async ({ clientOrgs, audit }) => {
    await clientOrgs.setAccountLayout(cluster.id, accountLayout)
    await clientOrgs.moveCluster(cluster, cluster.state, messageOf(others.right))
    await audit.record(
      auditOf(clientOrg, 'client_org.accounts_renewed', { cluster: cluster.name, found: others.right }),
    )
    return others
  })
}

const messageOf = (others: readonly string[]): string => {
  const text = othersText(others)
  return text === noOthers ? '' : text
}

/** Removes the account of a user who is no member any more, and names what may give rights without it. */
const removeStray = async (
  deps: UpkeepDeps,
  call: Call,
  { id, clusterId, userId }: MemberAccount,
): Outcome<Failure, readonly string[]> => {
  const owned = await deps.clientOrgs.findCluster(clusterId)
  if (owned === undefined) return right([])
  const { cluster, clientOrg } = owned
  const opened = await openOwn(deps, owned, call.signal)
  if (isLeft(opened)) return opened
  const { spoke } = opened.right
  const present = await presentNamespaces(spoke, clientOrg)
  if (isLeft(present)) return present
  const removed = await removeAccount(spoke, clientOrg, present.right.keys(), userId)
  if (isLeft(removed)) return removed
  const others = await listOtherCredentials(spoke, present.right.keys())
  if (isLeft(others)) return others
  return deps.unitOfWork.run<Failure, readonly string[]>(call, async ({ clientOrgs, audit }) => {
    await clientOrgs.removeAccount(id)
    if (cluster.state === 'Active') await clientOrgs.moveCluster(cluster, cluster.state, messageOf(others.right))
    const details = { cluster: cluster.name, user: userId, found: others.right }
    await audit.record(auditOf(clientOrg, 'client_org.account_removed', details))
    return others
  })
}

/** Logs how the work on a cluster ended. What failed is done again by the next run. */
const report = (
  { log }: Pick<UpkeepDeps, 'log'>,
  about: Readonly<Record<string, unknown>>,
  ended: Either<Failure, readonly string[]>,
  done: string,
): void => {
  if (isLeft(ended)) log.warn({ ...about, problem: ended.left.message }, `${done}: failed, and repeated later`)
  else log.info({ ...about, found: ended.right }, done)
}

/**
 * Keeps the accounts of members on clusters as they are to be: first on clusters of an earlier account layout, then
 * those of users who are no members any more. A cluster that cannot be reached delays no other one.
 */
export const makeUpkeep =
  (deps: UpkeepDeps) =>
  async (call: Call): Promise<void> => {
    for (let after = 0 as ClientClusterId; !call.signal.aborted;) {
      const owned = await deps.clientOrgs.clustersToRenew(after, batch)
      for (const each of owned) {
        const ended = await renewAccounts(deps, call, each)
        const { cluster, clientOrg } = each
        if (isLeft(ended)) await tellFailure(deps, call, each, ended.left)
        report(deps, { clientOrg: clientOrg.name, cluster: cluster.name }, ended, 'accounts of members on a cluster')
      }
      const last = owned.at(-1)
      if (last === undefined || owned.length < batch) break
      after = last.cluster.id
    }
    for (let after = 0 as MemberAccountId; !call.signal.aborted;) {
      const accounts = await deps.clientOrgs.strayAccounts(after, batch)
      for (const account of accounts) {
        const ended = await removeStray(deps, call, account)
        report(deps, { clusterId: account.clusterId, userId: account.userId }, ended, 'account of a former member')
      }
      const last = accounts.at(-1)
      if (last === undefined || accounts.length < batch) break
      after = last.id
    }
  }

/** Says in the status of the cluster that its members still share an account, and why. */
const tellFailure = async (
  { unitOfWork }: UpkeepDeps,
  call: Call,
  { cluster }: OwnedCluster,
  { message }: Failure,
): Promise<void> => {
  const text = `Members still share one account with a token that has no end. It could not be replaced: ${message}`
  if (cluster.message === text) return
  await unitOfWork.run<never, void>(call, async ({ clientOrgs }) => {
    await clientOrgs.moveCluster(cluster, cluster.state, text)
    return right(undefined)
  })
}
