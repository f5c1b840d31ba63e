import { defineFailure } from '../kernel/failure.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { token } from '../kernel/token.ts'
import type { ContractDocument } from './types.ts'

/** The store of documents does not respond, or has lost the document. */
export const DocumentStoreDown = defineFailure('DocumentStoreDown', 'Unavailable')
/** The document has the wrong type, is empty or too large, or did not pass the scanner. */
export const DocumentRefused = defineFailure('DocumentRefused', 'Unprocessable')
/** The link to a document has expired or was changed. */
export const DocumentLinkRefused = defineFailure('DocumentLinkRefused', 'Forbidden')

/** A link to one document that this service signed, as a request has it. */
export interface DocumentLink extends Pick<ContractDocument, 'ref' | 'fileName' | 'mediaType'> {
  /** From this instant on, in milliseconds since the epoch, the link is refused. */
  readonly expires: number
  readonly signature: string
}

/** Stores documents under random references, each of which is used once. */
export interface DocumentStore {
  /** Stores a document whole, or not at all. */
  put(document: ContractDocument, bytes: Uint8Array): Outcome<Failure<'DocumentStoreDown'>, void>
  /** Removes a document; there may be none. */
  remove(ref: string): Outcome<Failure<'DocumentStoreDown'>, void>
  /** Returns a URL under which the document can be downloaded, without other credentials, until just before `until`. The document is in the store. */
  link(document: ContractDocument, now: Date, until: Date): Outcome<Failure<'DocumentStoreDown'>, string>
  /** Returns the document of a link that this service signed and that has not expired. A store with links of its own refuses all. */
  open(link: DocumentLink, now: Date): Outcome<Failure<'DocumentStoreDown'> | Failure<'DocumentLinkRefused'>, Uint8Array>
}
export const DocumentStoreToken = token<DocumentStore>('contracts.DocumentStore')

/** Examines a document before it is stored, such as for viruses. */
export interface DocumentScanner {
  /** DocumentRefused: the document must not be stored. DocumentStoreDown: the scanner does not respond, so nothing is stored. */
  scan(document: ContractDocument, bytes: Uint8Array): Outcome<Failure<'DocumentRefused'> | Failure<'DocumentStoreDown'>, void>
}
export const DocumentScannerToken = token<DocumentScanner>('contracts.DocumentScanner')

/**
 * The documents in the store to which no contract refers, or not yet. Each is recorded before it is stored and before a contract
 * is without it, so that none stays in the store after a crash.
 */
export interface DocumentRemovals {
  /** Records that documents are to be removed from `dueAt` on, unless a contract keeps them. */
  plan(refs: readonly string[], dueAt: Date): Promise<void>
  /** Cancels the removal of a document to which a contract refers from now on. Returns false if the removal is due: the document may be gone. */
  cancel(ref: string, now: Date): Promise<boolean>
  /** Returns documents whose removal is due, by reference; at most `limit`, after the reference `after`. */
  listDue(now: Date, after: string, limit: number): Promise<readonly string[]>
  /** Forgets a document that is no longer in the store. */
  forget(ref: string): Promise<void>
}
export const DocumentRemovalsToken = token<DocumentRemovals>('contracts.DocumentRemovals')
