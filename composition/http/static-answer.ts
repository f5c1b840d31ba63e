import { hash } from 'node:crypto'
import { noneMatch } from './conditional.ts'
import type { Answer } from './write-answer.ts'

/** An answer whose bytes never change while the process runs: serialised and tagged once. */
export const staticAnswer = (contentType: string, body: string | Uint8Array, headers: Answer['headers'] = {}): Answer => {
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`
  const all = { 'Content-Type': contentType, 'Cache-Control': 'no-cache', ETag: etag, ...headers }
  const unchanged: Answer = { status: 304, headers: { ...headers, ETag: etag, 'Cache-Control': 'no-cache' }, body: undefined }
  return { status: 200, headers: all, body, notModifiedFor: (header) => (noneMatch(header, etag) ? undefined : unchanged) }
}

/** The `sha256-...` source by which a content security policy admits one inline style or script. */
export const inlineSource = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`
