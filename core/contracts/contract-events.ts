import type { UserStore } from '../identity/ports.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { AuditEntry } from '../kernel/unit-of-work.ts'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type { ContractStores } from './ports.ts'
import type { Contract, ContractEventName } from './types.ts'
import { contractEventNames } from './types.ts'

type RecordedContract = Pick<Contract, 'id' | 'name' | 'ownerId'>

const auditOf = defineAudit('contract', contractEventNames, ({ id, name, ownerId }: RecordedContract) => ({ objectId: id, objectName: name, tenantId: ownerId }))

/** One change to a contract: what happened, and who caused it. */
export interface ContractChange {
  readonly event: ContractEventName
  /** The mail address of the user, or the name of the job. */
  readonly by: string
  readonly at: Date
  readonly changes?: AuditEntry['changes']
}

/** Records a change in the history of the contract and in the audit log of its owner. */
export const recordEvent = async (
  { events, audit }: Pick<ContractStores, 'events' | 'audit'>,
  contract: RecordedContract,
  { event, by, at, changes }: ContractChange,
): Promise<void> => {
  await events.record(contract.id, event, by, at)
  await audit.record(auditOf(contract, event, changes))
}

/** Returns the mail address under which the history of contracts shows the caller; the login if there is none. */
export const makeAddressOf =
  (users: Pick<UserStore, 'byId'>) =>
  async ({ principal }: SignedInCall<never>): Promise<string> => {
    const user = await users.byId(principal.userId)
    return user === undefined || user.primaryEmail === '' ? principal.login : user.primaryEmail
  }
