import type { Background } from './ports.ts'
import { isMarkDue } from './session-rules.ts'

/** Credentials remembered as marked; one that is forgotten is marked once more, which does no harm. */
const maxMarked = 10_000

/** Runs `write` in the background when the credential's mark is due in this process as well. */
export type MarkUsed = (key: string, now: Date, write: () => Promise<void>) => void

/**
 * Marks credentials as used, at most once a minute each: of a burst of requests, all but one read the row before the mark
 * was there, so this process remembers what it marked.
 */
export const makeMarkUsed = (background: Background): MarkUsed => {
  const marked = new Map<string, Date>()
  return (key, now, write) => {
    if (!isMarkDue(marked.get(key), now)) return
    marked.delete(key)
    marked.set(key, now)
    const oldest = marked.size > maxMarked ? marked.keys().next().value : undefined
    if (oldest !== undefined) marked.delete(oldest)
    background.run('mark a credential as used', async () => {
      try {
        await write()
      } catch (error) {
        marked.delete(key)
        throw error
      }
    })
  }
}
