import type { EmailRecord } from '../../core/identity/types.ts'

export const emailWire = (email: EmailRecord, login: string) => ({
  email: email.email,
  verified: email.verified,
  primary: email.isPrimary,
  user_id: email.userId,
  username: login,
})
