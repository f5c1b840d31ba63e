import { createHmac, timingSafeEqual } from 'node:crypto'
import { access, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { DocumentLink, DocumentScanner, DocumentStore } from '../../core/contracts/ports.ts'
import { DocumentLinkRefused, DocumentStoreDown } from '../../core/contracts/ports.ts'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { toWireJson } from '../../core/kernel/json.ts'

export interface FolderDocumentsOptions {
  /** Every document is a file of this folder, named by its reference. */
  readonly folder: string
  /** HMAC-SHA256 key of the links. */
  readonly key: Secret<Uint8Array>
  /** Returns the URL of the route that serves links, without a trailing slash. */
  readonly routeUrl: () => string
  /** Writes a file that is whole or absent, and creates the folder if it does not exist. */
  readonly write: (folder: string, name: string, bytes: Uint8Array) => Promise<void>
}

type Signed = Omit<DocumentLink, 'signature'>

/** References are UUIDs, so that no path leads out of the folder. */
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const refused = (): Failure<'DocumentLinkRefused'> =>
  DocumentLinkRefused('The link to the document is not valid, or has expired.')

/** A failure of the file system becomes 503. Any other error is a fault of the program. */
const orDown = async <A>(work: () => Promise<A>): Outcome<Failure<'DocumentStoreDown'>, A> => {
  try {
    return right(await work())
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    return left(DocumentStoreDown(`The store of documents does not work (${code}).`))
  }
}

const orAbsent = (error: unknown): undefined => {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

/** DocumentStore in a folder. Its links lead to this service and are signed with HMAC-SHA256. */
export const makeFolderDocuments = ({ folder, key, routeUrl, write }: FolderDocumentsOptions): DocumentStore => {
  const signatureOf = ({ ref, expires, fileName, mediaType }: Signed): Buffer =>
    createHmac('sha256', key.reveal())
      .update(toWireJson([ref, expires, fileName, mediaType]))
      .digest()
  const isSigned = ({ signature, ...link }: DocumentLink): boolean => {
    const given = Buffer.from(signature, 'base64url')
    const expected = signatureOf(link)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
  const pathOf = (ref: string): string => {
    if (!uuid.test(ref)) throw new Error('The reference of a document is not a UUID.')
    return join(folder, ref)
  }
  return {
    put: ({ ref }, bytes) => orDown(async () => (pathOf(ref), write(folder, ref, bytes))),
    read: (ref) => orDown(() => readFile(pathOf(ref)).catch(orAbsent)),
    // A process that was killed may have left the unfinished file, which has a dot before its name.
    remove: (ref) =>
      orDown(
        async () =>
          void (await Promise.all([pathOf(ref), join(folder, `.${ref}`)].map((path) => rm(path, { force: true })))),
      ),
    link: ({ ref, fileName, mediaType }, _now, until) =>
      orDown(async () => {
        await access(pathOf(ref))
        const link = { ref, expires: until.getTime(), fileName, mediaType }
        const query = new URLSearchParams({
          expires: String(link.expires),
          name: fileName,
          type: mediaType,
          signature: signatureOf(link).toString('base64url'),
        })
        return `${routeUrl()}/${ref}?${query.toString()}`
      }),
    async open(link, now) {
      if (!isSigned(link) || now.getTime() >= link.expires) return left(refused())
      // A document that was replaced or removed ends its links.
      const bytes = await orDown(() => readFile(pathOf(link.ref)).catch(orAbsent))
      return isLeft(bytes) ? bytes : bytes.right === undefined ? left(refused()) : right(bytes.right)
    },
  }
}

/** Takes every document: only site admins upload. A deployment with a virus scanner puts its adapter here. */
export const noScanner: DocumentScanner = { scan: async () => right(undefined) }
