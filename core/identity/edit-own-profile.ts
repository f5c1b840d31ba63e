import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { changedFields, isUnchanged } from '../kernel/changed-fields.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { MailOccasion } from './account-mail.ts'
import { auditedUser } from './audited-user.ts'
import type { IdentityChanges } from './ports.ts'
import { movePrimaryEmail } from './primary-email.ts'
import { ProfileInvalid, readProfile } from './profile-rules.ts'
import type { User, UserChanges } from './types.ts'

/** An absent field stays as it is; an empty text clears it. */
export interface OwnProfileInput
  extends Pick<UserChanges, 'fullName' | 'website' | 'location' | 'language' | 'theme' | 'diffViewStyle' | 'hideActivity' | 'description' | 'hideEmail'> {
  /** Only the name that the user has: renaming is not done here. */
  readonly name?: string
  /** A verified address of the user, which becomes the primary one. */
  readonly email?: string
}

type ProfileFailure = Failure<'ProfileInvalid'>

const choosePrimary = async (stores: IdentityChanges, user: User, email: string, occasion: MailOccasion): Outcome<ProfileFailure, boolean> => {
  const own = await stores.emails.list(user.id)
  const chosen = own.find((record) => record.email.toLowerCase() === email.toLowerCase())
  const refused = left(ProfileInvalid('Only a verified address of yours can become the primary one.'))
  if (chosen === undefined) return refused
  const moved = await movePrimaryEmail(stores, user, chosen, occasion)
  return isLeft(moved) ? refused : moved
}

/** Changes what users decide about themselves. */
export const makeEditOwnProfile =
  (deps: { readonly unitOfWork: UnitOfWork<IdentityChanges>; readonly clock: Clock }) =>
  async (call: SignedInCall<User>, input: OwnProfileInput): Outcome<ProfileFailure, User> => {
    const { name, email, ...fields } = input
    const read = readProfile(fields)
    if (isLeft(read)) return read
    const changes = read.right
    return deps.unitOfWork.run<ProfileFailure, User>(call, async (stores) => {
      const user = await stores.users.lock(call.principal.userId)
      if (user === undefined) throw new Error('the account of a proven caller is gone')
      if (name !== undefined && name !== user.login) return left(ProfileInvalid('The name cannot be changed here.'))
      // Who has no address is shown an empty one.
      const keepsEmail = email === undefined || email === user.primaryEmail
      const moved = keepsEmail ? right(false) : await choosePrimary(stores, user, email, { at: deps.clock.now(), sourceIp: call.sourceIp })
      if (isLeft(moved)) return moved
      const changed = changedFields(user, changes)
      if (isUnchanged(changed) && !moved.right) return right(user)
      if (!isUnchanged(changed)) await stores.users.update(user.id, changes)
      await stores.audit.record({
        action: 'user.updated',
        ...auditedUser(user),
        changes: { ...changed, ...(moved.right ? { email: 'changed' } : {}) },
      })
      const edited = await stores.users.byId(user.id)
      return right(edited ?? user)
    })
  }
