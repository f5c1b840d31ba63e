import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { parseAccountName } from '../../kernel/ids.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { Mail } from '../../mail/ports.ts'
import type { Call } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import type { Allowances } from '../attempt-ports.ts'
import { UserNameRefused } from './users.ts'
import { parseEmailAddress } from '../emails/email-address.ts'
import type { PasswordPolicy } from '../authentication/password-policy.ts'
import { checkPassword } from '../authentication/password-policy.ts'
import type { DomainNames, IdentityChanges, IdentityStores, PasswordHasher } from '../ports.ts'
import { TooManyAttempts } from '../ports.ts'
import type { PostConfirmationDeps } from '../emails/link-codes.ts'
import { removeExpiredEmailClaim, makePostConfirmation } from '../emails/link-codes.ts'
import { emailDomainRefused, isDomainAllowed, RegistrationClosed } from '../site-rules.ts'
import type { SiteRules } from './ports.ts'
import type { EmailAddress, NewUser, User } from '../types.ts'

export interface SignUpDeps extends PostConfirmationDeps {
  readonly stores: Pick<IdentityStores, 'siteRules'>
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly hasher: PasswordHasher
  readonly passwords: PasswordPolicy
  readonly domains: DomainNames
  readonly clock: Clock
  readonly allowances: Allowances
}

export interface SignUpInput {
  readonly login: string
  readonly email: string
  readonly password: Secret
  readonly fullName: string
}

type InputFailure =
  | Failure<'UserNameRefused'>
  | Failure<'EmailInvalid'>
  | Failure<'EmailDomainRefused'>
  | Failure<'PasswordTooWeak'>
export type SignUpFailure =
  | InputFailure
  | Failure<'RegistrationClosed'>
  | Failure<'UserNameTaken'>
  | Failure<'TooManyAttempts'>

const checkInput = (deps: SignUpDeps, rules: SiteRules, input: SignUpInput): Either<InputFailure, EmailAddress> => {
  const name = parseAccountName(input.login)
  if (isLeft(name)) return left(UserNameRefused(name.left.message))
  const email = parseEmailAddress(input.email, deps.domains)
  if (isLeft(email)) return email
  if (!isDomainAllowed(rules, email.right)) return left(emailDomainRefused(rules))
  const context = { login: input.login, emails: [email.right.text], fullName: input.fullName }
  const password = checkPassword(deps.passwords, input.password, context)
  return isLeft(password) ? password : email
}

const signUpMail = (email: EmailAddress, holder: User): Mail => ({
  to: email.text,
  subject: 'A sign-up with your address was attempted',
  paragraphs: [
    `A sign-up with this address was attempted. It already belongs to the account ${holder.login}, so no ` +
      'account was created.',
    'If that was you, sign in as that user, or request a new password if you forgot it. Otherwise you do ' +
      'not need to do anything.',
  ],
  accountId: holder.id,
})

/** The values computed before the transaction. */
interface Prepared {
  readonly fresh: NewUser
  readonly email: EmailAddress
  /** Whether the address may receive another such mail. */
  readonly mayTell: boolean
  readonly postConfirmation: ReturnType<typeof makePostConfirmation>
}

/**
 * Creates the account that waits for the confirmation of its address. If the address is already taken, the account is
 * created without it: that account can never be confirmed, and in both cases the name looks like that of a new account.
 */
const insertWaiting = async (
  stores: IdentityChanges,
  { fresh, email, mayTell, postConfirmation }: Prepared,
): Outcome<Failure<'UserNameTaken'> | Failure<'EmailTaken'>, void> => {
  const id = await stores.users.insert(fresh)
  if (isLeft(id)) return id
  await stores.accountLife.markUnconfirmed(id.right, fresh.createdAt)
  await stores.audit.record(auditOfUser({ id: id.right, login: fresh.login }, 'user.signed_up'))
  await removeExpiredEmailClaim(stores, email.key, fresh.createdAt)
  const holderId = await stores.emails.ownerOf(email.key)
  if (holderId !== undefined) {
    const holder = await stores.users.byId(holderId)
    if (holder !== undefined && mayTell) await stores.mail.post(signUpMail(email, holder))
    return right(undefined)
  }
  const added = await stores.emails.insert(id.right, email, false, true, fresh.createdAt)
  if (isLeft(added)) return added
  await postConfirmation(stores, { userId: id.right, login: fresh.login, email: email.text })
  return right(undefined)
}

/**
 * Registers an account, while registration is open. It is inactive until its address is confirmed, so this does not
 * sign in. The response, and its cost, are the same whether or not the address is already in use; the holder of the
 * address is notified by mail.
 * Failures: RegistrationClosed before any other check, TooManyAttempts by address.
 */
export const makeSignUp = (deps: SignUpDeps) => {
  const postConfirmation = makePostConfirmation(deps)
  return async (call: Call, input: SignUpInput): Outcome<SignUpFailure, void> => {
    const rules = await deps.stores.siteRules.read()
    if (!rules.isRegistrationOpen)
      return left(RegistrationClosed('Sign-up is closed. Ask an administrator for an account.'))
    const email = checkInput(deps, rules, input)
    if (isLeft(email)) return email
    const wait = await deps.allowances.take('sign-up', call.sourceIp)
    if (wait !== undefined)
      return left(
        TooManyAttempts('Too many sign-ups from this address; wait and try again.', { retryAfterSeconds: wait }),
      )
    const phc = await deps.hasher.hash(input.password)
    const fresh: NewUser = {
      login: input.login,
      fullName: input.fullName,
      passwordPhc: phc,
      mustChangePassword: false,
      isAdmin: false,
      isActive: false,
      restricted: false,
      visibility: 'public',
      createdAt: deps.clock.now(),
    }
    const mayTell = (await deps.allowances.take('sign-up-notice', email.right.key)) === undefined
    const prepared: Prepared = { fresh, email: email.right, mayTell, postConfirmation }
    const attempt = () =>
      deps.unitOfWork.run<Failure<'UserNameTaken'> | Failure<'EmailTaken'>, void>(call, (stores) =>
        insertWaiting(stores, prepared),
      )
    for (;;) {
      const made = await attempt()
      // A concurrent request took the address between the query and the insert; the next query finds it.
      if (isLeft(made) && made.left.tag === 'EmailTaken') continue
      return made as Either<Failure<'UserNameTaken'>, void>
    }
  }
}
