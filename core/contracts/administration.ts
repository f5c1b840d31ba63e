import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserStore } from '../identity/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { AuditEntry } from '../kernel/unit-of-work.ts'
import type { MembershipStore } from '../organizations/ports.ts'
import { makeAddressOf, recordEvent } from './contracts.ts'
import type { ContractDraft } from './contract-rules.ts'
import { detailsOf, parseDetails, parseTerms } from './contract-rules.ts'
import type { ContractChange, ContractKey } from './contracts.ts'
import { attachDocument, type Attached, type makeWithUpload, type Upload } from './documents.ts'
import type { ContractStore, ContractStores, ContractUnitOfWork } from './ports.ts'
import { ContractMissing } from './ports.ts'
import type { Effective } from './terms.ts'
import { changedTerms, changeTimeline, effectiveInstant, namesTerms, termsAt, timelineOf } from './terms.ts'
import type { Contract, ContractDocument, ContractEventName, ContractId, ContractTerms, TermsVersion } from './types.ts'
import { toWireJson } from '../kernel/json.ts'

/** The account that a new contract names does not exist. */
export const ContractOwnerMissing = defineFailure(
  'ContractOwnerMissing',
  'Unprocessable',
  'The account that the contract is for does not exist.',
)
/** The terms of a contract are invalid. */
export const ContractTermsInvalid = defineFailure(
  'ContractTermsInvalid',
  'Unprocessable',
  'A term of the contract is not valid.',
)
/** The contract is revoked. */
export const ContractRevoked = defineFailure(
  'ContractRevoked',
  'Unprocessable',
  'A revoked contract cannot be changed.',
)

/** Maximum number of products, each with a contract of its own, in one request. */
const maxProducts = 20

export interface AdministrationDeps {
  readonly clock: Clock
  readonly unitOfWork: ContractUnitOfWork
  readonly users: Pick<UserStore, 'byId'>
}

export interface CreateContractsInput {
  /** The name of the organization or user. */
  readonly owner: string
  readonly products: readonly string[]
  readonly draft: ContractDraft
  /** Each contract gets a copy. */
  readonly upload: Upload | undefined
}

type DocumentFailure = Failure<'DocumentRefused'> | Failure<'DocumentStoreDown'>
type CreateFailure = Failure<'ContractOwnerMissing'> | Failure<'ContractTermsInvalid'> | DocumentFailure

/** Returns the terms for each product, each product once. */
const termsForEach = (
  products: readonly string[],
  draft: ContractDraft,
): Either<Failure<'ContractTermsInvalid'>, readonly ContractTerms[]> => {
  const named = [...new Set(products)]
  if (named.length === 0 || named.length > maxProducts)
    return left(ContractTermsInvalid(`Name 1 to ${maxProducts} products.`))
  const all: ContractTerms[] = []
  for (const product of named) {
    const terms = parseTerms({ ...draft, product }, undefined)
    if (isLeft(terms)) return left(ContractTermsInvalid(terms.left.message))
    all.push(terms.right)
  }
  return right(all)
}

/** Creates one contract for each product, all of them or none. */
export const makeCreateContracts = (
  deps: AdministrationDeps & {
    readonly memberships: Pick<MembershipStore, 'findAccount'>
    readonly withUpload: ReturnType<typeof makeWithUpload>
  },
) => {
  const addressOf = makeAddressOf(deps.users)
  type Created = readonly Contract[]
  return async (
    call: SignedInCall<Created>,
    { owner, products, draft, upload }: CreateContractsInput,
  ): Outcome<CreateFailure, Created> => {
    const account = await deps.memberships.findAccount(owner)
    if (account === undefined) return left(ContractOwnerMissing(`The account ${owner} does not exist.`))
    const terms = termsForEach(products, draft)
    if (isLeft(terms)) return terms
    const by = await addressOf(call)
    const insertAll = (documents: readonly ContractDocument[]) =>
      deps.unitOfWork.run<CreateFailure, Created>(call, async (stores) => {
        const at = deps.clock.now()
        const created: Contract[] = []
        for (const [index, each] of terms.right.entries()) {
          const id = await stores.contracts.insert(account.id as AccountId, each, at, by)
          const contract = await stores.contracts.getAny(id)
          if (contract === undefined) throw new Error('The contract that was just inserted does not exist.')
          const changes = { product: each.product, start: each.startsAt.toISOString(), end: each.endsAt.toISOString() }
          await recordEvent(stores, contract, { event: 'contract.created', by, at, changes })
          const document = documents[index]
          const attached =
            document === undefined ? right(undefined) : await attachDocument(stores, contract, document, at)
          if (isLeft(attached)) return attached
          created.push({ ...contract, document })
        }
        return right(created)
      })
    if (upload === undefined) return insertAll([])
    return deps.withUpload<CreateFailure, Created>(upload, terms.right.length, async (documents) => {
      const created = await insertAll(documents)
      return isLeft(created) ? created : right({ result: created.right, unneeded: [] })
    })
  }
}

/** Returns the contracts of all accounts, or of one, the newest start first. */
export const makeListAllContracts =
  ({
    contracts,
    memberships,
  }: {
    readonly contracts: Pick<ContractStore, 'listAll' | 'listOf'>
    readonly memberships: Pick<MembershipStore, 'findAccount'>
  }) =>
  async (
    _call: SignedInCall<never>,
    { owner, page }: { readonly owner: string | undefined; readonly page: PageRequest },
  ): Outcome<never, Page<Contract>> => {
    if (owner === undefined) return right(await contracts.listAll(page))
    const account = await memberships.findAccount(owner)
    return right(
      account === undefined ? { items: [], total: 0 } : await contracts.listOf(account.id as AccountId, {}, page),
    )
  }

const missing = (id: ContractId): Failure<'ContractMissing'> => ContractMissing(`The contract ${id} does not exist.`)

/** Returns a contract of any account. */
export const makeGetAnyContract =
  ({ contracts }: { readonly contracts: Pick<ContractStore, 'getAny'> }) =>
  async (_call: SignedInCall<never>, id: ContractId): Outcome<Failure<'ContractMissing'>, Contract> => {
    const contract = await contracts.getAny(id)
    return contract === undefined ? left(missing(id)) : right(contract)
  }

/**
 * Returns a use case of a contract's owner for site admins: the contract is found by its id alone. `absent` is the
 * failure if it does not exist.
 */
export const makeOnAnyContract =
  ({ contracts }: { readonly contracts: Pick<ContractStore, 'getAny'> }) =>
  <C extends SignedInCall<never>, I extends ContractKey, F extends Failure, A>(
    useCase: (call: C, input: I) => Outcome<F, A>,
  ) =>
  async (
    call: C,
    input: Omit<I, 'ownerId'> & { readonly id: ContractId },
  ): Outcome<F | Failure<'ContractMissing'>, A> => {
    const contract = await contracts.getAny(input.id)
    return contract === undefined
      ? left(missing(input.id))
      : useCase(call, { ...input, ownerId: contract.ownerId } as unknown as I)
  }

/**
 * Returns a use case on an account's contracts for site admins, who name the account; without a name, their own is
 * meant.
 */
export const makeOnAnyAccount =
  ({ memberships }: { readonly memberships: Pick<MembershipStore, 'findAccount'> }) =>
  <C extends SignedInCall<never>, I extends { readonly ownerId: AccountId }, F extends Failure, A>(
    useCase: (call: C, input: I) => Outcome<F, A>,
  ) =>
  async (
    call: C,
    input: Omit<I, 'ownerId'> & { readonly owner: string | undefined },
  ): Outcome<F | Failure<'ContractOwnerMissing'>, A> => {
    const name = input.owner ?? call.principal.login
    const account = await memberships.findAccount(name)
    return account === undefined
      ? left(ContractOwnerMissing(`The account ${name} does not exist.`))
      : useCase(call, { ...input, ownerId: account.id as AccountId } as unknown as I)
  }

/** What a change did, for the history; undefined if there was nothing to change. */
type Applied = Pick<ContractChange, 'changes' | 'terms'> | undefined

interface Change<F extends Failure> {
  readonly event: ContractEventName
  /** Applies the change to a locked contract. */
  apply(stores: ContractStores, contract: Contract, at: Date, by: string): Promise<Either<F, Applied>>
}

/** Changes a locked contract and returns it as it is then. */
const changeContract = async <F extends Failure>(
  deps: AdministrationDeps,
  call: SignedInCall<Contract>,
  id: ContractId,
  { event, apply }: Change<F>,
): Outcome<F | Failure<'ContractMissing'>, Contract> => {
  const by = await makeAddressOf(deps.users)(call)
  return deps.unitOfWork.run<F | Failure<'ContractMissing'>, Contract>(call, async (stores) => {
    const found = await stores.contracts.getAny(id)
    const [contract] = found === undefined ? [] : await stores.contracts.lock(found.ownerId, [id])
    if (contract === undefined) return left(missing(id))
    const at = deps.clock.now()
    const applied = await apply(stores, contract, at, by)
    if (isLeft(applied)) return applied
    if (applied.right !== undefined) await recordEvent(stores, contract, { ...applied.right, event, by, at })
    return right((await stores.contracts.getAny(id)) ?? contract)
  })
}

interface TermsChange {
  readonly draft: ContractDraft
  readonly effective: Effective
  readonly at: Date
  readonly by: string
}

/** Makes the versions of the terms that follow from a change. Undefined: no term changes. */
const changeTerms = async (
  { contracts }: ContractStores,
  { id }: Contract,
  { draft, effective, at, by }: TermsChange,
): Promise<Either<Failure<'ContractTermsInvalid'>, Applied>> => {
  const from = effectiveInstant(effective, at)
  if (isLeft(from)) return left(ContractTermsInvalid(from.left.message))
  if (effective.from !== undefined && !namesTerms(draft))
    return left(
      ContractTermsInvalid('effectiveFrom is for terms. name, emails, autoAssignCluster and document count at once.'),
    )
  const versions = await contracts.listTerms(id)
  const changed = changeTimeline(versions, draft, from.right, { recordedAt: at, recordedBy: by })
  if (isLeft(changed)) return left(ContractTermsInvalid(changed.left.message))
  if (changed.right === undefined) return right(undefined)
  const { versions: timeline, first } = changed.right
  await contracts.setTerms(id, timeline, at)
  return right({ changes: changesOf(versions, first, effective), terms: { number: first.number, from: first.from } })
}

const changesOf = (
  before: readonly TermsVersion[],
  first: TermsVersion,
  { reopens }: Effective,
): AuditEntry['changes'] => {
  const old = termsAt(timelineOf(before), first.from)
  return {
    terms: first.number,
    effectiveFrom: first.from.toISOString(),
    reopened: reopens,
    fields: old === undefined ? [] : changedTerms(old, first),
  }
}

export interface ChangeTermsInput {
  readonly id: ContractId
  readonly draft: ContractDraft
  readonly effective: Effective
  readonly upload: Upload | undefined
}
type TermsFailure = Failure<'ContractMissing'> | Failure<'ContractTermsInvalid'>

/**
 * Changes the terms that the request names, from the instant that it names, and the details and the document at once.
 */
export const makeUpdateContract = (
  deps: AdministrationDeps & { readonly withUpload: ReturnType<typeof makeWithUpload> },
) => {
  type UpdateFailure = TermsFailure | DocumentFailure
  const change = async (
    call: SignedInCall<Contract>,
    { id, draft, effective }: ChangeTermsInput,
    [document]: readonly ContractDocument[],
  ): Outcome<UpdateFailure, Attached<Contract>> => {
    let unneeded: readonly string[] = []
    const changed = await changeContract<Failure<'ContractTermsInvalid'> | DocumentFailure>(deps, call, id, {
      event: 'contract.updated',
      async apply(stores, contract, at, by) {
        unneeded = []
        const details = parseDetails(draft, contract)
        if (isLeft(details)) return left(ContractTermsInvalid(details.left.message))
        const terms = await changeTerms(stores, contract, { draft, effective, at, by })
        if (isLeft(terms)) return terms
        const isSame = toWireJson(details.right) === toWireJson(detailsOf(contract))
        if (!isSame) await stores.contracts.setDetails(id, details.right, at)
        if (document === undefined) return right(terms.right ?? (isSame ? undefined : {}))
        const attached = await attachDocument(stores, contract, document, at)
        if (isLeft(attached)) return attached
        if (attached.right !== undefined) unneeded = [attached.right]
        return right(terms.right ?? {})
      },
    })
    return isLeft(changed) ? changed : right({ result: changed.right, unneeded })
  }
  return async (call: SignedInCall<Contract>, input: ChangeTermsInput): Outcome<UpdateFailure, Contract> => {
    if (input.upload !== undefined)
      return deps.withUpload<UpdateFailure, Contract>(input.upload, 1, (documents) => change(call, input, documents))
    const changed = await change(call, input, [])
    return isLeft(changed) ? changed : right(changed.right.result)
  }
}

export interface ExtendInput {
  readonly id: ContractId
  readonly endsAt: Date
  readonly effective: Effective
}

/** Moves the end of a contract to a later instant. Its people are reminded again before the new end. */
export const makeExtendContract =
  (deps: AdministrationDeps) =>
  (
    call: SignedInCall<Contract>,
    { id, endsAt, effective }: ExtendInput,
  ): Outcome<TermsFailure | Failure<'ContractRevoked'>, Contract> =>
    changeContract<Failure<'ContractTermsInvalid'> | Failure<'ContractRevoked'>>(deps, call, id, {
      event: 'contract.extended',
      async apply(stores, contract, at, by) {
        if (contract.revokedAt !== undefined) return left(ContractRevoked('A revoked contract cannot be extended.'))
        if (endsAt.getTime() < contract.endsAt.getTime())
          return left(ContractTermsInvalid('The new end must be later than the present one.'))
        return changeTerms(stores, contract, { draft: { endsAt }, effective, at, by })
      },
    })

const revokeNow = async (stores: ContractStores, id: ContractId, at: Date): Promise<void> => {
  await stores.contracts.revoke(id, at)
  await stores.licenses.revokeOf(id, at)
}

/** Revokes a contract with its licenses. A revoked contract stays as it is. */
export const makeRevokeContract =
  (deps: AdministrationDeps) =>
  (call: SignedInCall<Contract>, id: ContractId): Outcome<Failure<'ContractMissing'>, Contract> =>
    changeContract<never>(deps, call, id, {
      event: 'contract.revoked',
      async apply(stores, contract, at) {
        if (contract.revokedAt !== undefined) return right(undefined)
        await revokeNow(stores, id, at)
        return right({})
      },
    })

/**
 * Reports whether anything that was billed, licensed or reported depends on a contract: it was in force, or a cluster
 * or a license refers to it.
 */
const hasPast = async ({ contracts }: ContractStores, id: ContractId, at: Date): Promise<boolean> =>
  (await contracts.listTerms(id)).some(({ startsAt }) => startsAt.getTime() <= at.getTime()) || contracts.isUsed(id)

/**
 * Deletes a contract that was never in force, with its history. Any other one ends as if it were revoked: figures,
 * reports and licenses of the past depend on it. The audit log of the owner has a row in both cases.
 */
export const makeDeleteContract =
  (deps: AdministrationDeps) =>
  async (call: SignedInCall<Contract>, id: ContractId): Outcome<Failure<'ContractMissing'>, Attached<Contract>> => {
    let unneeded: readonly string[] = []
    const deleted = await changeContract<never>(deps, call, id, {
      event: 'contract.deleted',
      async apply(stores, contract, at, by) {
        unneeded = []
        if (await hasPast(stores, id, at)) {
          if (contract.revokedAt !== undefined) return right(undefined)
          await revokeNow(stores, id, at)
          return right({ changes: { kept: true } })
        }
        await recordEvent(stores, contract, { event: 'contract.deleted', by, at, changes: { kept: false } })
        if (contract.document !== undefined) {
          unneeded = [contract.document.ref]
          await stores.documentRemovals.plan(unneeded, at)
        }
        await stores.contracts.remove(id)
        return right(undefined)
      },
    })
    return isLeft(deleted) ? deleted : right({ result: deleted.right, unneeded })
  }
