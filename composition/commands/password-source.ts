import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import type { Secret } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'
import { generatePassword } from '../generated-password.ts'
import { StartRefused } from '../start-refused.ts'
import { promptPassword } from './prompt-password.ts'

/** A password that an operator gave, or one made here, which must then be shown. */
export interface ChosenPassword {
  readonly password: Secret
  readonly generated: string | undefined
}

/** From a file's first line, for `-` from stdin or whoever sits at it, else generated. Never from the command line, which others can read. */
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
    throw new StartRefused([`The password file ${file} cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown'}).`])
  }
}
