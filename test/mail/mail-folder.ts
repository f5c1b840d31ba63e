import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import type { Email } from 'postal-mime'

/** What a service has written into its mail folder. */
export interface MailFolder {
  /** Mails to an address, in the order of writing. */
  to(address: string): Promise<readonly Email[]>
  /** Waits until there are `count` mails to an address; answers the last. */
  nth(address: string, count: number): Promise<Email>
}

/** Three periods of the job that delivers mail. */
const waitMs = 30_000

interface Written {
  /** Nanoseconds. */
  readonly at: bigint
  readonly mail: Promise<Email>
}

export const readMailFolder = (folder: string): MailFolder => {
  // A mail does not change, and many waits look at the folder.
  const known = new Map<string, Written>()
  const read = (name: string): Written => {
    const file = join(folder, name)
    const written = known.get(name) ?? {
      at: statSync(file, { bigint: true }).mtimeNs,
      mail: PostalMime.parse(readFileSync(file)),
    }
    known.set(name, written)
    return written
  }
  const to = async (address: string): Promise<readonly Email[]> => {
    if (!existsSync(folder)) return []
    // A mail that is being written has a name with a dot in front.
    const written = readdirSync(folder)
      .filter((name) => name.endsWith('.eml') && !name.startsWith('.'))
      .map(read)
    written.sort((a, b) => Number(a.at - b.at))
    const mails = await Promise.all(written.map(({ mail }) => mail))
    return mails.filter((mail) => mail.to?.some((recipient) => recipient.address === address))
  }
  return {
    to,
    nth: async (address, count) => {
      const until = Date.now() + waitMs
      for (;;) {
        const mails = await to(address)
        const mail = mails[count - 1]
        if (mail !== undefined) return mail
        if (Date.now() > until)
          throw new Error(
            `${mails.length} mails to ${address}, not ${count}: ${mails.map(({ subject }) => subject).join(', ')}`,
          )
        await sleep(20)
      }
    },
  }
}

/** The code in a mail's text; it stands in the link as well. */
export const codeIn = ({ text }: Email): string => {
  const code = /[?&]code=([0-9A-Za-z]{32})\b/.exec(text ?? '')?.[1]
  if (code === undefined || !text?.includes(`The code is: ${code}`)) throw new Error(`no code in: ${text}`)
  return code
}
