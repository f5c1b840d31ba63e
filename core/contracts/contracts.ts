import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserStore } from '../identity/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import { definedFields, isSameSet } from '../kernel/json.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { makeAddressOf, recordEvent } from './contract-events.ts'
import { parseRecipients } from './contract-rules.ts'
import type { ContractEvents, ContractSelection, ContractStore, ContractUnitOfWork } from './ports.ts'
import { ContractMissing } from './ports.ts'
import type { Contract, ContractEvent, ContractId } from './types.ts'

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
  async (_call: SignedInCall<never>, { id, page }: ContractKey & { readonly page: PageRequest }): Outcome<never, Page<ContractEvent>> =>
    right(await events.listOf(id, page))

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
      if (bindsNewClusters === contract.bindsNewClusters && isSameSet(usageAlertClient, contract.emails.usageAlertClient)) return right(contract)
      const at = clock.now()
      const changed = { ...contract, bindsNewClusters, emails: { ...contract.emails, usageAlertClient }, version: contract.version + 1 }
      await stores.contracts.replace(id, changed, at)
      const changes = { autoAssignCluster: bindsNewClusters, usageAlertClient: usageAlertClient.length }
      await recordEvent(stores, contract, { event: 'preferences.updated', by, at, changes })
      return right(changed)
    })
  }
}
