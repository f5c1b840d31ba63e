import { writeSync } from 'node:fs'
import type { ErrorFields } from '../adapters/logging/error-fields.ts'
import { errorFields } from '../adapters/logging/error-fields.ts'

const lastWords: (() => void)[] = []

/** Has `flush` called before the process dies of an error that nobody caught. */
export const beforeCrash = (flush: () => void): void => void lastWords.push(flush)

/**
 * An error that nobody caught ends the process: its state cannot be trusted. Written once, straight to the descriptor,
 * since a log whose reader has gone would raise the next error and loop for ever.
 */
export const installCrashHandlers = (): void => {
  // A reader of stdout that leaves (`| head`) is no reason to crash.
  process.stdout.on('error', () => undefined)
  process.stderr.on('error', () => undefined)
  process.once('uncaughtException', (error) => die('uncaughtException', error))
  process.once('unhandledRejection', (reason) => die('unhandledRejection', reason))
}

const die = (kind: string, reason: unknown): void => {
  attempt(() => lastWords.forEach((flush) => attempt(flush)))
  attempt(() => writeSync(2, `moorage: ${kind}: ${reason instanceof Error ? described(errorFields(reason)) : 'a value that is no error'}\n`))
  process.exit(1)
}

/** As a stack is printed, of what may be told of an error. */
const described = ({ name, code, message, at = [], cause }: ErrorFields): string =>
  [
    `${name}${message === undefined ? '' : `: ${message}`}${code === undefined ? '' : ` (${code})`}`,
    ...at.map((line) => `    ${line}`),
    ...(cause === undefined ? [] : [`  caused by ${described(cause)}`]),
  ].join('\n')

const attempt = (step: () => void): void => {
  try {
    step()
  } catch {
    // Nothing is left to tell it to.
  }
}
