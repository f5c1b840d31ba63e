import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserStore } from '../identity/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import { laterBySeconds } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { ContractKey } from './contracts.ts'
import { makeAddressOf, recordEvent } from './contracts.ts'
import type {
  ContractStore,
  ContractStores,
  ContractUnitOfWork,
  DocumentLink,
  DocumentRemovals,
  DocumentScanner,
  DocumentStore,
} from './ports.ts'
import { ContractDocumentMissing, ContractMissing, DocumentRefused, DocumentStoreDown } from './ports.ts'
import type { Contract, ContractDocument, ContractId } from './types.ts'

/** Maximum size of a document in bytes: 25 MiB. */
const maxDocumentBytes = 26_214_400
/** How long a link to a document is valid. */
const linkSeconds = 1800

/**
 * The types that are taken, by the bytes with which their files begin. An office document is not one of them: it can
 * contain macros, and shows something else tomorrow.
 */
const types = [
  { mediaType: 'application/pdf', ending: 'pdf', magic: [0x25, 0x50, 0x44, 0x46, 0x2d] },
  { mediaType: 'image/png', ending: 'png', magic: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
  { mediaType: 'image/jpeg', ending: 'jpg', magic: [0xff, 0xd8, 0xff] },
] as const
export type DocumentType = (typeof types)[number]

const documentMediaTypes = types.map(({ mediaType }) => mediaType)

/**
 * Returns the type of a document by its content; undefined if it is not one of those that are taken. The name says
 * nothing.
 *
 * @internal
 */
export const documentTypeOf = (bytes: Uint8Array): DocumentType | undefined =>
  types.find(({ magic }) => magic.every((byte, index) => bytes[index] === byte))

const maxNameLength = 200

/** Returns the last part of a file name without control characters, with the ending of the type. @internal */
export const documentNameOf = (given: string, { ending, mediaType }: DocumentType): string => {
  const last = given.split(/[/\\]/).at(-1) ?? ''
  const plain = last.replace(/[\p{Cc}\p{Cf}\p{Cs}<>:"|?*]/gu, '').trim()
  const stem = (plain === '' || /^\.+$/.test(plain) ? 'contract' : plain).slice(0, maxNameLength)
  const endings = mediaType === 'image/jpeg' ? /\.jpe?g$/i : new RegExp(`\\.${ending}$`, 'i')
  return endings.test(stem) ? stem : `${stem}.${ending}`
}

const missing = (id: ContractId): Failure<'ContractMissing'> => ContractMissing(`The contract ${id} does not exist.`)
const noDocument = (id: ContractId): Failure<'ContractDocumentMissing'> =>
  ContractDocumentMissing(`The contract ${id} has no document.`)

/** Longer than an upload takes. A document that no contract has got by then is removed. */
const uploadSeconds = 3600

export interface DocumentDeps {
  readonly clock: Clock
  readonly contracts: Pick<ContractStore, 'get'>
  readonly documents: DocumentStore
  readonly log: Log
  readonly newRef: () => string
  readonly removals: DocumentRemovals
  readonly scanner: DocumentScanner
  readonly unitOfWork: ContractUnitOfWork
  readonly users: Pick<UserStore, 'byId'>
}

/** Removes a document that no contract has. If the store is down, the job removes it later. */
const makeDiscard =
  ({ documents, log, removals }: Pick<DocumentDeps, 'documents' | 'log' | 'removals'>) =>
  async (ref: string): Promise<boolean> => {
    const removed = await documents.remove(ref)
    if (isLeft(removed))
      log.warn(
        { ref, reason: removed.left.message },
        'a document that is not needed any more stays in the store for now',
      )
    else await removals.forget(ref)
    return !isLeft(removed)
  }

/** How many documents one statement of the job reads. */
const batch = 100

/**
 * Removes the documents that no contract has. Returns how many; those that the store did not remove stay for the next
 * run.
 */
export const makeRemoveDocuments = (deps: Pick<DocumentDeps, 'clock' | 'documents' | 'log' | 'removals'>) => {
  const discard = makeDiscard(deps)
  return async (signal: AbortSignal): Promise<number> => {
    const now = deps.clock.now()
    let removed = 0
    for (
      let due = await deps.removals.listDue(now, '', batch);
      due.length > 0;
      due = await deps.removals.listDue(now, due.at(-1) ?? '', batch)
    )
      for (const ref of due) {
        if (signal.aborted) return removed
        if (await discard(ref)) removed += 1
      }
    return removed
  }
}

/** A document as a request has it. */
export interface Upload {
  readonly bytes: Uint8Array
  readonly fileName: string
}
type StoreFailure = Failure<'DocumentRefused'> | Failure<'DocumentStoreDown'>

/**
 * Gives a locked contract a document that was stored, and plans the removal of its previous one, whose reference it
 * returns.
 */
export const attachDocument = async (
  { contracts, documentRemovals }: Pick<ContractStores, 'contracts' | 'documentRemovals'>,
  { id, document: previous }: Pick<Contract, 'id' | 'document'>,
  document: ContractDocument,
  at: Date,
): Outcome<Failure<'DocumentStoreDown'>, string | undefined> => {
  if (!(await documentRemovals.cancel(document.ref, at)))
    return left(DocumentStoreDown('The upload took too long. Try again.'))
  if (previous !== undefined) await documentRemovals.plan([previous.ref], at)
  await contracts.setDocument(id, document, at)
  return right(previous?.ref)
}

/**
 * What a change to contracts does with stored documents: it returns its result, and the documents that no contract has
 * any more.
 */
export interface Attached<A> {
  readonly result: A
  readonly unneeded: readonly string[]
}

/**
 * Runs a change of contracts with copies of a document that are in the store, each for one contract. Unless the change
 * attaches them, they are removed.
 */
export const makeWithUpload = (deps: Omit<DocumentDeps, 'contracts' | 'unitOfWork' | 'users'>) => {
  const discard = makeDiscard(deps)
  const discardAll = async (refs: readonly string[]): Promise<void> => {
    for (const ref of refs) await discard(ref)
  }
  return async <F extends Failure, A>(
    { bytes, fileName }: Upload,
    copies: number,
    change: (documents: readonly ContractDocument[]) => Outcome<F, Attached<A>>,
  ): Outcome<F | StoreFailure, A> => {
    if (bytes.length > maxDocumentBytes)
      return left(DocumentRefused(`A document has at most ${maxDocumentBytes} bytes.`))
    const type = documentTypeOf(bytes)
    if (type === undefined)
      return left(
        DocumentRefused(`The content of the document must be of one of these types: ${documentMediaTypes.join(', ')}.`),
      )
    const about = { fileName: documentNameOf(fileName, type), mediaType: type.mediaType, size: bytes.length }
    const documents = Array.from({ length: copies }, (): ContractDocument => ({ ...about, ref: deps.newRef() }))
    const refs = documents.map(({ ref }) => ref)
    await deps.removals.plan(refs, laterBySeconds(deps.clock.now(), uploadSeconds))
    const stored = await storeAll(deps, documents, bytes)
    const changed: Either<F | StoreFailure, Attached<A>> = isLeft(stored) ? stored : await change(documents)
    await discardAll(isLeft(changed) ? refs : changed.right.unneeded)
    return isLeft(changed) ? changed : right(changed.right.result)
  }
}

const storeAll = async (
  { documents: store, scanner }: Pick<DocumentDeps, 'documents' | 'scanner'>,
  documents: readonly ContractDocument[],
  bytes: Uint8Array,
): Outcome<StoreFailure, void> => {
  for (const [index, document] of documents.entries()) {
    const scanned = index === 0 ? await scanner.scan(document, bytes) : right(undefined)
    const stored = isLeft(scanned) ? scanned : await store.put(document, bytes)
    if (isLeft(stored)) return stored
  }
  return right(undefined)
}

type UploadFailure = Failure<'ContractMissing'> | StoreFailure

/** Stores a document and makes it the one of a contract. The previous one is removed, and its links end. */
export const makeUploadDocument = (deps: DocumentDeps) => {
  const addressOf = makeAddressOf(deps.users)
  const withUpload = makeWithUpload(deps)
  return async (
    call: SignedInCall<Contract>,
    { ownerId, id, ...upload }: ContractKey & Upload,
  ): Outcome<UploadFailure, Contract> => {
    if ((await deps.contracts.get(ownerId, id)) === undefined) return left(missing(id))
    const by = await addressOf(call)
    return withUpload<UploadFailure, Contract>(upload, 1, async ([document]) => {
      if (document === undefined) throw new Error('No document was stored.')
      let unneeded: readonly string[] = []
      const changed = await deps.unitOfWork.run<UploadFailure, Contract>(call, async (stores) => {
        const [contract] = await stores.contracts.lock(ownerId, [id])
        if (contract === undefined) return left(missing(id))
        const at = deps.clock.now()
        const attached = await attachDocument(stores, contract, document, at)
        if (isLeft(attached)) return attached
        unneeded = attached.right === undefined ? [] : [attached.right]
        await recordEvent(stores, contract, {
          event: 'document.uploaded',
          by,
          at,
          changes: { fileName: document.fileName, mediaType: document.mediaType, size: document.size },
        })
        return right({ ...contract, document, version: contract.version + 1 })
      })
      return isLeft(changed) ? changed : right({ result: changed.right, unneeded })
    })
  }
}

/** Removes the document of a contract. Its links end. */
export const makeRemoveDocument = (deps: Omit<DocumentDeps, 'contracts' | 'newRef' | 'scanner'>) => {
  const addressOf = makeAddressOf(deps.users)
  const discard = makeDiscard(deps)
  type RemoveFailure = Failure<'ContractMissing'> | Failure<'ContractDocumentMissing'>
  return async (call: SignedInCall<void>, { ownerId, id }: ContractKey): Outcome<RemoveFailure, void> => {
    const by = await addressOf(call)
    let unneeded = ''
    const removed = await deps.unitOfWork.run<RemoveFailure, void>(call, async (stores) => {
      const [contract] = await stores.contracts.lock(ownerId, [id])
      if (contract === undefined) return left(missing(id))
      const { document } = contract
      if (document === undefined) return left(noDocument(id))
      const at = deps.clock.now()
      await stores.contracts.setDocument(id, undefined, at)
      await stores.documentRemovals.plan([document.ref], at)
      await recordEvent(stores, contract, {
        event: 'document.removed',
        by,
        at,
        changes: { fileName: document.fileName },
      })
      unneeded = document.ref
      return right(undefined)
    })
    if (!isLeft(removed)) await discard(unneeded)
    return removed
  }
}

/** Returns a link to the document of a contract, which is valid for 30 minutes for anyone who has it. */
export const makeLinkDocument = (
  deps: Pick<DocumentDeps, 'clock' | 'contracts' | 'documents' | 'unitOfWork' | 'users'>,
) => {
  const addressOf = makeAddressOf(deps.users)
  type LinkFailure = Failure<'ContractMissing'> | Failure<'ContractDocumentMissing'> | Failure<'DocumentStoreDown'>
  return async (call: SignedInCall<string>, { ownerId, id }: ContractKey): Outcome<LinkFailure, string> => {
    const contract = await deps.contracts.get(ownerId, id)
    if (contract === undefined) return left(missing(id))
    const { document } = contract
    if (document === undefined) return left(noDocument(id))
    const at = deps.clock.now()
    const link = await deps.documents.link(document, at, laterBySeconds(at, linkSeconds))
    if (isLeft(link)) return link
    const by = await addressOf(call)
    return deps.unitOfWork.run<LinkFailure, string>(call, async (stores) => {
      await recordEvent(stores, contract, { event: 'document.downloaded', by, at })
      return link
    })
  }
}

/** Returns the bytes of the document to which a link of this service leads. */
export const makeOpenDocument =
  ({ clock, documents }: Pick<DocumentDeps, 'clock' | 'documents'>) =>
  (_call: unknown, link: DocumentLink): ReturnType<DocumentStore['open']> =>
    documents.open(link, clock.now())

/**
 * Returns a deletion of contracts that removes the documents that are not needed any more, once the deletion is
 * committed.
 */
export const makeWithDocument = (deps: Pick<DocumentDeps, 'documents' | 'log' | 'removals'>) => {
  const discard = makeDiscard(deps)
  return <F extends Failure>(
    remove: (call: SignedInCall<Contract>, id: ContractId) => Outcome<F, Attached<Contract>>,
  ) =>
    async (call: SignedInCall<Contract>, id: ContractId): Outcome<F, Contract> => {
      const removed = await remove(call, id)
      if (isLeft(removed)) return removed
      for (const ref of removed.right.unneeded) await discard(ref)
      return right(removed.right.result)
    }
}
