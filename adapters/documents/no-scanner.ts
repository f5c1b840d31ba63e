import { right } from 'fp-ts/lib/Either.js'
import type { DocumentScanner } from '../../core/contracts/document-ports.ts'

/** Takes every document: only site admins upload. A deployment with a virus scanner puts its adapter here. */
export const noScanner: DocumentScanner = { scan: async () => right(undefined) }
