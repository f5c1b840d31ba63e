import { Resolver } from 'node:dns/promises'
import type { DomainProofs } from '../../core/identity-providers/ports.ts'
import { domainProof } from '../../core/identity-providers/types.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'

const fileBytes = 4_096
const lookupMilliseconds = 5_000
/** The name exists and has no such record, or does not exist. Every other error says nothing about the domain. */
const absentCodes: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA'])

type Proof = ReturnType<typeof domainProof>
type Found = 'present' | 'absent' | 'unknown'

/** Looks up TXT records. Rejects as `node:dns` does. */
export type TextRecords = (name: string) => Promise<readonly (readonly string[])[]>

/** The records by the resolvers of this machine. */
export const systemTextRecords: TextRecords = (name) =>
  new Resolver({ timeout: lookupMilliseconds, tries: 2 }).resolveTxt(name)

/** DomainProofs by DNS and by the web server of the domain, which is reached by https only. */
export const makeDomainProofs = (fetch: GuardedFetch, records: TextRecords): DomainProofs => {
  const inRecord = async ({ recordName, text }: Proof): Promise<Found> => {
    try {
      const found = await records(recordName)
      return found.some((pieces) => pieces.join('').trim() === text) ? 'present' : 'absent'
    } catch (error) {
      return absentCodes.has((error as { readonly code?: unknown }).code) ? 'absent' : 'unknown'
    }
  }

  const inFile = async ({ fileUrl, text }: Proof, signal: AbortSignal): Promise<Found> => {
    try {
      const url = new URL(fileUrl)
      const answer = await fetch({ url, limitBytes: fileBytes, timeoutMilliseconds: lookupMilliseconds }, signal)
      answer.release?.()
      // A file at another host would be that of another domain.
      if (answer.url.hostname !== url.hostname || answer.status >= 500) return 'unknown'
      const isPresent = answer.status === 200 && Buffer.from(answer.bytes).toString('utf8').trim() === text
      return isPresent ? 'present' : 'absent'
    } catch {
      return 'unknown'
    }
  }

  return {
    async find(domain, token, signal) {
      const proof = domainProof({ domain, token })
      const record = await inRecord(proof)
      if (record === 'present') return record
      const file = await inFile(proof, signal)
      if (file === 'present') return file
      // Where one of the two was readable and has no proof, the proof is missing.
      return record === 'absent' || file === 'absent' ? 'absent' : 'unknown'
    },
  }
}
