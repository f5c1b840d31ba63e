import type { RepositoryAccess } from '../../core/chart-repositories/types.ts'
import type { GuardedAnswer, GuardedFetch } from '../outbound/guarded-fetch.ts'
import type { ChartThreads } from './chart-threads.ts'
import { originSecrets } from './origin-secrets.ts'
import type { RepositoryIndex } from './repository-index.ts'
import { sha256Hex } from './sha256.ts'
import { answeredBy } from './source-errors.ts'

const indexBytes = 50 * 1024 * 1024
const indexMilliseconds = 60_000
/** Indexes that are kept, and bytes of them as they came; what was asked for longest ago goes first. */
const most = { indexes: 64, bytes: 128 * 1024 * 1024 }

interface Kept {
  readonly index: RepositoryIndex
  readonly size: number
  readonly validators: Readonly<Record<string, string>>
}

/** Indexes of HTTP repositories, kept under the address and the credentials that they were fetched with. */
export interface IndexCache {
  /** Asks the repository each time whether its index changed. */
  of(access: RepositoryAccess, signal: AbortSignal): Promise<RepositoryIndex>
}

/** `<base>/index.yaml`, with the base's own query. */
const indexUrl = (base: string): URL => {
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/index.yaml`
  return url
}

const validatorsOf = ({ headers }: GuardedAnswer): Readonly<Record<string, string>> => ({
  ...(headers['etag'] === undefined ? {} : { 'if-none-match': headers['etag'] }),
  ...(headers['last-modified'] === undefined ? {} : { 'if-modified-since': headers['last-modified'] }),
})

export const makeIndexCache = (deps: { readonly fetch: GuardedFetch; readonly threads: ChartThreads }): IndexCache => {
  const kept = new Map<string, Kept>()

  const keep = (key: string, entry: Kept): void => {
    kept.delete(key)
    kept.set(key, entry)
    let bytes = [...kept.values()].reduce((sum, { size }) => sum + size, 0)
    for (const [oldest, { size }] of kept) {
      if (kept.size <= most.indexes && bytes <= most.bytes) return
      kept.delete(oldest)
      bytes -= size
    }
  }

  return {
    async of(access, signal) {
      const url = indexUrl(access.url)
      const secrets = originSecrets(access.credentials)
      const key = sha256Hex(Buffer.from(JSON.stringify([url.href, secrets])))
      const before = kept.get(key)
      const answer = await deps.fetch({ url, secrets, limitBytes: indexBytes, timeoutMilliseconds: indexMilliseconds, headers: before?.validators ?? {} }, signal)
      if (answer.status === 304 && before !== undefined) {
        keep(key, before)
        return before.index
      }
      if (answer.status !== 200) throw answeredBy(url.hostname, answer.status)
      const size = answer.bytes.length
      const { index } = await deps.threads.run<'index'>({ kind: 'index', bytes: answer.bytes })
      const validators = validatorsOf(answer)
      if (Object.keys(validators).length > 0) keep(key, { index, size, validators })
      return index
    },
  }
}
