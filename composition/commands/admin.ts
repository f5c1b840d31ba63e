import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeCreateToken } from '../../core/identity/create-token.ts'
import { makeCreateUser } from '../../core/identity/create-user.ts'
import { IdentityStoresToken, TokenDigestToken } from '../../core/identity/ports.ts'
import { makeResetSecondFactor } from '../../core/identity/reset-second-factor.ts'
import { makeSetPassword } from '../../core/identity/set-password.ts'
import { AttemptThrottleToken } from '../../core/identity/throttle-ports.ts'
import { makeUnlockUser } from '../../core/identity/unlock-user.ts'
import { EntropyToken } from '../../core/kernel/entropy.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import { userCreation } from '../account-creation.ts'
import type { CommandContext, CommonOptions, ExitCode } from '../command-context.ts'
import { printJson } from '../command-context.ts'
import { onStore } from '../on-store.ts'
import { operatorCall } from '../operator-call.ts'
import { StartRefused } from '../start-refused.ts'
import type { CreateTokenOptions, CreateUserOptions, SetPasswordOptions } from './admin-options.ts'
import { choosePassword } from './password-source.ts'

const done = <A>(answer: Either<Failure, A>): A => {
  if (isLeft(answer)) throw new StartRefused([[answer.left.message, ...(answer.left.errors ?? [])].join(' ')])
  return answer.right
}

/** JSON, or lines of `name value`, on stdout. */
const report = (context: CommandContext, options: CommonOptions, facts: Readonly<Record<string, string | number | boolean | undefined>>): ExitCode => {
  if (options.json === true) printJson(context, facts)
  else for (const [name, value] of Object.entries(facts)) if (value !== undefined) context.print(`${name.padEnd(10)} ${value}`)
  return 0
}

export const createUser = (context: CommandContext, username: string, options: CreateUserOptions): Promise<ExitCode> =>
  onStore(context, options, async ({ container, boot }) => {
    const { password, generated } = await choosePassword(options.passwordFile)
    const create = makeCreateUser(userCreation(container, boot.settings))
    const input = { login: username, email: options.email, password, isAdmin: options.admin ?? false, allowsReservedName: true }
    const user = done(await create(operatorCall('admin.createUser'), input))
    return report(context, options, { id: user.id, username: user.login, email: user.primaryEmail, is_admin: user.isAdmin, password: generated })
  })

export const setPassword = (context: CommandContext, username: string, options: SetPasswordOptions): Promise<ExitCode> =>
  onStore(context, options, async ({ container, boot }) => {
    const { password, generated } = await choosePassword(options.passwordFile)
    const set = makeSetPassword({ ...userCreation(container, boot.settings), stores: container.resolve(IdentityStoresToken) })
    done(await set(operatorCall('admin.setPassword'), { login: username, password }))
    return report(context, options, { username, password: generated })
  })

export const resetSecondFactor = (context: CommandContext, username: string, options: CommonOptions): Promise<ExitCode> =>
  onStore(context, options, async ({ container, boot }) => {
    const { unitOfWork, clock } = userCreation(container, boot.settings)
    const reset = makeResetSecondFactor({ unitOfWork, clock, stores: container.resolve(IdentityStoresToken) })
    done(await reset(operatorCall('admin.resetSecondFactor'), username))
    return report(context, options, { username, second_factor: 'removed' })
  })

export const unlockUser = (context: CommandContext, username: string, options: CommonOptions): Promise<ExitCode> =>
  onStore(context, options, async ({ container, boot }) => {
    const { unitOfWork } = userCreation(container, boot.settings)
    const unlock = makeUnlockUser({ unitOfWork, stores: container.resolve(IdentityStoresToken), throttle: container.resolve(AttemptThrottleToken) })
    const unlocked = done(await unlock(operatorCall('admin.unlockUser'), username))
    return report(context, options, { username, unlocked })
  })

export const createToken = (context: CommandContext, username: string, options: CreateTokenOptions): Promise<ExitCode> =>
  onStore(context, options, async ({ container, boot }) => {
    const user = await container.resolve(IdentityStoresToken).users.byLogin(username)
    if (user === undefined) throw new StartRefused([`There is no user ${username}.`])
    const create = makeCreateToken({
      ...userCreation(container, boot.settings),
      digest: container.resolve(TokenDigestToken),
      entropy: container.resolve(EntropyToken),
    })
    const scopes = options.scopes.split(',').map((word) => word.trim())
    const input = { name: options.name, scopes, expiresAt: undefined }
    const { record, value } = done(await create(operatorCall('admin.createToken'), { userId: user.id, login: user.login }, input))
    return report(context, options, { id: record.id, username: user.login, name: record.name, scopes: record.scopeWords.join(','), token: value.reveal() })
  })
