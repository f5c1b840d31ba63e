import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { Writable } from 'node:stream'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeCreateToken } from '../../../core/identity/tokens/access-tokens.ts'
import { makeCreateUser } from '../../../core/identity/accounts/users.ts'
import { IdentityStoresPort, TokenDigestPort } from '../../../core/identity/ports.ts'
import { makeResetSecondFactor } from '../../../core/identity/second-factor/enrollment.ts'
import { makeSetPassword } from '../../../core/identity/authentication/passwords.ts'
import { AttemptThrottlePort } from '../../../core/identity/attempt-ports.ts'
import { makeUnlockUser } from '../../../core/identity/accounts/user-changes.ts'
import type { Secret } from '../../../core/kernel/secret.ts'
import { EntropyPort, secret } from '../../../core/kernel/secret.ts'
import type { Failure } from '../../../core/kernel/failure.ts'
import { operatorCall } from '../../part/operator.ts'
import { generatePassword, ofUserCreation, userCreation } from './user-creation.ts'
import { StartRefused } from '../../part/boot.ts'
import type { CommonOptions, ExitCode, PartContext } from '../../part/command-context.ts'
import { printJson } from '../../part/command-context.ts'

export interface CreateUserOptions extends CommonOptions {
  readonly email: string
  readonly admin?: boolean
  readonly passwordFile?: string
}
export interface SetPasswordOptions extends CommonOptions {
  readonly passwordFile?: string
}
export interface CreateTokenOptions extends CommonOptions {
  readonly name: string
  readonly scopes: string
}

/** Prompts for a new password, twice, without echo. The prompts go to stderr. */
export const promptPassword = async (): Promise<string> => {
  const first = await askUnseen('New password: ')
  if (first !== (await askUnseen('The same again: ')))
    throw new StartRefused(['The two passwords differ. Nothing was changed.'])
  return first
}

const askUnseen = async (question: string): Promise<string> => {
  process.stderr.write(question)
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: unseen, terminal: true })
  try {
    return await lines.question('')
  } catch {
    throw new StartRefused(['No password was given. Nothing was changed.'])
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}

/** A password from the operator, or a generated one, which must then be shown. */
export interface ChosenPassword {
  readonly password: Secret
  readonly generated: string | undefined
}

/**
 * Returns a password from the first line of a file, from stdin or a terminal prompt when the file is `-`, or a
 * generated one. It never comes from the command line, which other users can read.
 */
export const choosePassword = async (file: string | undefined): Promise<ChosenPassword> => {
  if (file === undefined) {
    const generated = generatePassword()
    return { password: secret(generated), generated }
  }
  const [line = ''] = (file === '-' ? await fromStdin() : readPasswordFile(file)).split(/\r?\n/)
  if (line === '') throw new StartRefused([`${file === '-' ? 'stdin' : file} holds no password in its first line.`])
  return { password: secret(line), generated: undefined }
}

const fromStdin = (): Promise<string> => (process.stdin.isTTY ? promptPassword() : text(process.stdin))

const readPasswordFile = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new StartRefused([
      `The password file ${file} cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown'}).`,
    ])
  }
}

const done = <A>(answer: Either<Failure, A>): A => {
  if (isLeft(answer)) throw new StartRefused([[answer.left.message, ...(answer.left.errors ?? [])].join(' ')])
  return answer.right
}

/** Prints JSON, or lines of `name value`, to stdout. */
const report = (
  context: PartContext,
  options: CommonOptions,
  facts: Readonly<Record<string, string | number | boolean | undefined>>,
): ExitCode => {
  if (options.json === true) printJson(context, facts)
  else
    for (const [name, value] of Object.entries(facts))
      if (value !== undefined) context.print(`${name.padEnd(10)} ${value}`)
  return 0
}

export const createUser = (context: PartContext, username: string, options: CreateUserOptions): Promise<ExitCode> =>
  context.onStore(options, async ({ container }) => {
    const { password, generated } = await choosePassword(options.passwordFile)
    const create = makeCreateUser(userCreation(container.give(ofUserCreation)))
    const input = {
      login: username,
      email: options.email,
      password,
      isAdmin: options.admin ?? false,
      allowsReservedName: true,
    }
    const user = done(await create(operatorCall('admin.createUser'), input))
    return report(context, options, {
      id: user.id,
      username: user.login,
      email: user.primaryEmail,
      is_admin: user.isAdmin,
      password: generated,
    })
  })

export const setPassword = (context: PartContext, username: string, options: SetPasswordOptions): Promise<ExitCode> =>
  context.onStore(options, async ({ container }) => {
    const { password, generated } = await choosePassword(options.passwordFile)
    const set = makeSetPassword({
      ...userCreation(container.give(ofUserCreation)),
      stores: container.resolve(IdentityStoresPort),
    })
    done(await set(operatorCall('admin.setPassword'), { login: username, password }))
    return report(context, options, { username, password: generated })
  })

export const resetSecondFactor = (context: PartContext, username: string, options: CommonOptions): Promise<ExitCode> =>
  context.onStore(options, async ({ container }) => {
    const { unitOfWork, clock } = userCreation(container.give(ofUserCreation))
    const reset = makeResetSecondFactor({ unitOfWork, clock, stores: container.resolve(IdentityStoresPort) })
    done(await reset(operatorCall('admin.resetSecondFactor'), username))
    return report(context, options, { username, second_factor: 'removed' })
  })

export const unlockUser = (context: PartContext, username: string, options: CommonOptions): Promise<ExitCode> =>
  context.onStore(options, async ({ container }) => {
    const { unitOfWork } = userCreation(container.give(ofUserCreation))
    const unlock = makeUnlockUser({
      unitOfWork,
      stores: container.resolve(IdentityStoresPort),
      throttle: container.resolve(AttemptThrottlePort),
    })
    const unlocked = done(await unlock(operatorCall('admin.unlockUser'), username))
    return report(context, options, { username, unlocked })
  })

export const createToken = (context: PartContext, username: string, options: CreateTokenOptions): Promise<ExitCode> =>
  context.onStore(options, async ({ container }) => {
    const user = await container.resolve(IdentityStoresPort).users.byLogin(username)
    if (user === undefined) throw new StartRefused([`The user ${username} does not exist.`])
    const create = makeCreateToken({
      ...userCreation(container.give(ofUserCreation)),
      digest: container.resolve(TokenDigestPort),
      entropy: container.resolve(EntropyPort),
    })
    const scopes = options.scopes.split(',').map((word) => word.trim())
    const input = { name: options.name, scopes, expiresAt: undefined }
    const { record, value } = done(
      await create(operatorCall('admin.createToken'), { owner: { userId: user.id, login: user.login }, ...input }),
    )
    return report(context, options, {
      id: record.id,
      username: user.login,
      name: record.name,
      scopes: record.scopeWords.join(','),
      token: value.reveal(),
    })
  })
