import type { EmailRecord, User } from './types.ts'

const dayMilliseconds = 24 * 3600 * 1000

/**
 * Whether a forgotten password may be reset by mail to this address: a verified one that has been so for a day. A found
 * session or token can add and confirm an address; it must not thereby become the whole account before the owner, who is
 * told by mail, can do something about it. The addresses of an account that is younger than a day need not wait.
 */
export const servesReset = (user: Pick<User, 'createdAt'>, email: Pick<EmailRecord, 'verified' | 'verifiedAt'>, now: Date): boolean => {
  const dayAgo = now.getTime() - dayMilliseconds
  return email.verified && (user.createdAt.getTime() > dayAgo || (email.verifiedAt !== undefined && email.verifiedAt.getTime() <= dayAgo))
}
