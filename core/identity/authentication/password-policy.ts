import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { CommonPasswords } from '../ports.ts'

export const PasswordTooWeak = defineFailure(
  'PasswordTooWeak',
  'Unprocessable',
  'The password is too short, too common, or close to the name or address of the account.',
)
/** The new password and its repetition differ. */
export const PasswordsDiffer = defineFailure('PasswordsDiffer', 'Unprocessable', 'The two new passwords differ.')

/** Reports whether the repetition of a new password, if any, equals it. */
export const isRetyped = ({
  password,
  retyped,
}: {
  readonly password: Secret
  readonly retyped?: Secret | undefined
}): boolean => retyped === undefined || retyped.reveal() === password.reveal()

export const maxPasswordLength = 256

/** The words that a password must not resemble. */
export interface PasswordContext {
  readonly login: string
  readonly emails: readonly string[]
  readonly fullName?: string
}

export interface PasswordPolicy {
  readonly minLength: number
  readonly common: CommonPasswords
  /** Words that are obvious guesses besides the product's name: the host where users sign in. */
  readonly siteWords?: () => readonly string[]
}

const productName = 'moorage'
/** The name of the setting for `minLength`, for messages. */
const lengthSetting = 'MOORAGE_PASSWORD_MIN_LENGTH'

/**
 * Returns the words of a user's context that a guess would start from. Short words are omitted: they would forbid too
 * much.
 */
const contextWords = (
  { fullName = '', ...context }: PasswordContext,
  siteWords: readonly string[],
): readonly string[] =>
  [
    productName,
    ...siteWords,
    context.login,
    ...context.emails.flatMap((email) => [email, ...email.split('@')]),
    fullName,
    ...fullName.split(/\s+/),
  ]
    .map((word) => word.toLowerCase())
    .filter((word) => word.length >= 4)

/** Returns the middle of a password without the digits and symbols commonly put around a word. */
const stem = (text: string): string => text.replace(/^[^a-z]+/, '').replace(/[^a-z]+$/, '')

/** Reports whether the text is a repeated unit of at most half its length. */
const isRepetition = (text: string): boolean => {
  const second = (text + text).indexOf(text, 1)
  return second < text.length
}

const isRun = (text: string): boolean => {
  const steps = new Set([...text].slice(1).map((sign, i) => sign.charCodeAt(0) - text.charCodeAt(i)))
  return steps.size === 1
}

/**
 * Checks a password and names the rule that refuses it. The rules are its length, not its character classes, and that
 * it is not an early guess. Length counts Unicode characters. No truncation, no case folding.
 */
export const checkPassword = (
  policy: PasswordPolicy,
  password: Secret,
  context: PasswordContext,
): Either<Failure<'PasswordTooWeak'>, Secret> => {
  const text = password.reveal()
  const length = [...text].length
  const refused = (message: string): Either<Failure<'PasswordTooWeak'>, Secret> => left(PasswordTooWeak(message))
  if (length < policy.minLength) {
    return refused(
      `This password is too short: it has ${length} of at least ${policy.minLength} characters (${lengthSetting}).`,
    )
  }
  if (text.length > maxPasswordLength)
    return refused(`This password is too long: a password has at most ${maxPasswordLength} characters.`)
  const lower = text.toLowerCase()
  if (isRepetition(lower)) return refused('This password repeats itself.')
  if (isRun(lower)) return refused('This password is a run of neighbouring characters.')
  if (policy.common.includes(lower))
    return refused('This password is on the list of common passwords. No setting changes that list.')
  if (policy.common.includes(stem(lower))) {
    return refused(
      'This password contains a common password, and only digits and signs around it. No setting changes ' +
        'the list of common passwords.',
    )
  }
  const resembles = contextWords(context, policy.siteWords?.() ?? []).some((word) => {
    const rest = lower.split(word).join('')
    return rest.length < lower.length && rest.length < policy.minLength / 2
  })
  return resembles
    ? refused(
        'This password is too close to the name, the e-mail address or this site: less than half of ' +
          `${policy.minLength} characters (${lengthSetting}) remain beside it.`,
      )
    : right(password)
}
