import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { left, right } from 'fp-ts/lib/Either.js'
import { MailDelayed } from '../../core/mail/ports.ts'
import type { Mailer } from '../../core/mail/ports.ts'
import type { MailSender } from './message.ts'
import { mimeMessage } from './message.ts'

/** Writes each mail as `REF.eml` into a folder, readable by its owner only. A repetition replaces the file. */
export const makeFolderMailer = (folder: string, sender: MailSender): Mailer => {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  return {
    async send(mail, messageRef) {
      const { message } = await transport.sendMail(mimeMessage(mail, messageRef, sender))
      try {
        await writeWhole(folder, `${messageRef}.eml`, message as Buffer)
        return right(undefined)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code === undefined) throw error
        // For example a full disk, or a folder that the service may not write to.
        return left(MailDelayed(code))
      }
    },
  }
}

/** Writes a file atomically: a program that watches the folder for `.eml` files never sees a partial one. */
const writeWhole = async (folder: string, name: string, bytes: Buffer): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const unfinished = join(folder, `.${randomUUID()}`)
  try {
    const file = await open(unfinished, 'wx', 0o600)
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(unfinished, join(folder, name))
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined)
    throw error
  }
}
