import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserStore } from '../identity/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import { laterBySeconds } from '../kernel/clock.ts'
import { CommitOutcomeUnknown, type Failure, type Outcome } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { makeAddressOf, recordEvent } from './contract-events.ts'
import type { ContractKey } from './contracts.ts'
import type { DocumentLink, DocumentScanner, DocumentStore } from './document-ports.ts'
import { DocumentRefused } from './document-ports.ts'
import { documentMediaTypes, documentNameOf, documentTypeOf, linkSeconds, maxDocumentBytes } from './document-rules.ts'
import type { ContractStore, ContractUnitOfWork } from './ports.ts'
import { ContractDocumentMissing, ContractMissing } from './ports.ts'
import type { Contract, ContractDocument, ContractId } from './types.ts'

const missing = (id: ContractId): Failure<'ContractMissing'> => ContractMissing(`The contract ${id} does not exist.`)
const noDocument = (id: ContractId): Failure<'ContractDocumentMissing'> => ContractDocumentMissing(`The contract ${id} has no document.`)

export interface DocumentDeps {
  readonly clock: Clock
  readonly contracts: Pick<ContractStore, 'get'>
  readonly documents: DocumentStore
  readonly log: Log
  readonly newRef: () => string
  readonly scanner: DocumentScanner
  readonly unitOfWork: ContractUnitOfWork
  readonly users: Pick<UserStore, 'byId'>
}

/** Removes a document that no contract refers to. One that stays behind because the store is down takes space, no more. */
const makeDiscard =
  ({ documents, log }: Pick<DocumentDeps, 'documents' | 'log'>) =>
  async (ref: string | undefined): Promise<void> => {
    if (ref === undefined) return
    const removed = await documents.remove(ref)
    if (isLeft(removed)) log.warn({ ref, reason: removed.left.message }, 'a document that is not needed any more stays in the store')
  }

export interface UploadInput extends ContractKey {
  readonly bytes: Uint8Array
  readonly fileName: string
}
type UploadFailure = Failure<'ContractMissing'> | Failure<'DocumentRefused'> | Failure<'DocumentStoreDown'>

/** Stores a document and makes it the one of a contract. The previous one is removed, and its links end. */
export const makeUploadDocument = (deps: DocumentDeps) => {
  const addressOf = makeAddressOf(deps.users)
  const discard = makeDiscard(deps)
  return async (call: SignedInCall<Contract>, { ownerId, id, bytes, fileName }: UploadInput): Outcome<UploadFailure, Contract> => {
    if (bytes.length > maxDocumentBytes) return left(DocumentRefused(`A document has at most ${maxDocumentBytes} bytes.`))
    const type = documentTypeOf(bytes)
    if (type === undefined) return left(DocumentRefused(`The content of the document must be of one of these types: ${documentMediaTypes.join(', ')}.`))
    if ((await deps.contracts.get(ownerId, id)) === undefined) return left(missing(id))
    const document: ContractDocument = { ref: deps.newRef(), fileName: documentNameOf(fileName, type), mediaType: type.mediaType, size: bytes.length }
    const scanned = await deps.scanner.scan(document, bytes)
    if (isLeft(scanned)) return scanned
    const stored = await deps.documents.put(document, bytes)
    if (isLeft(stored)) return stored
    const by = await addressOf(call)
    let previous: string | undefined
    const change = deps.unitOfWork.run<Failure<'ContractMissing'>, Contract>(call, async (stores) => {
      const [contract] = await stores.contracts.lock(ownerId, [id])
      if (contract === undefined) return left(missing(id))
      previous = contract.document?.ref
      const at = deps.clock.now()
      await stores.contracts.setDocument(id, document, at)
      await recordEvent(stores, contract, { event: 'document.uploaded', by, at, changes: { fileName: document.fileName, mediaType: document.mediaType, size: document.size } })
      return right({ ...contract, document, version: contract.version + 1 })
    })
    const changed = await change.catch(async (error: unknown) => {
      // After a commit whose answer was lost, the contract may refer to the new document.
      if (!(error instanceof CommitOutcomeUnknown)) await discard(document.ref)
      throw error
    })
    await discard(isLeft(changed) ? document.ref : previous)
    return changed
  }
}

/** Returns a link to the document of a contract, which is valid for 30 minutes for anyone who has it. */
export const makeLinkDocument = (deps: Pick<DocumentDeps, 'clock' | 'contracts' | 'documents' | 'unitOfWork' | 'users'>) => {
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

/** Returns a deletion of contracts that removes their documents too, once the deletion is committed. */
export const makeWithDocument =
  (deps: Pick<DocumentDeps, 'documents' | 'log'>) =>
  <F extends Failure>(remove: (call: SignedInCall<Contract>, id: ContractId) => Outcome<F, Contract>) =>
  async (call: SignedInCall<Contract>, id: ContractId): Outcome<F, Contract> => {
    const removed = await remove(call, id)
    if (!isLeft(removed)) await makeDiscard(deps)(removed.right.document?.ref)
    return removed
  }
