import type { Mail } from '../../core/mail/ports.ts'
import { secret } from '../../core/kernel/secret.ts'

const link = 'https://platform.example/confirm-email?code=the-credential'
export const mailTo = (to: string, extras: Partial<Mail> = {}): Mail => ({
  to,
  subject: 'A subject',
  paragraphs: ['A paragraph.'],
  action: { label: 'Do it', url: secret(link) },
  ...extras,
})
