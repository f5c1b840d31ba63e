import { createTransport } from 'nodemailer'
import { left, right } from 'fp-ts/lib/Either.js'
import { MailDelayed } from '../../core/mail/ports.ts'
import type { Mailer } from '../../core/mail/ports.ts'
import type { MailSender } from './message.ts'
import { mimeMessage } from './message.ts'

export interface FolderMailerOptions {
  readonly folder: string
  readonly sender: MailSender
  /** Writes a file that is whole or absent, readable by its owner only, and creates the folder if it does not exist. */
  readonly write: (folder: string, name: string, bytes: Uint8Array) => Promise<void>
}

/** Writes each mail as `REF.eml` into a folder. A repetition replaces the file. */
export const makeFolderMailer = ({ folder, sender, write }: FolderMailerOptions): Mailer => {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  return {
    async send(mail, messageRef) {
      const { message } = await transport.sendMail(mimeMessage(mail, messageRef, sender))
      try {
        await write(folder, `${messageRef}.eml`, message as Buffer)
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
