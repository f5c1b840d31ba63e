import { createRequire } from 'node:module'
import type * as languageCommon from '@zxcvbn-ts/language-common'
import type { CommonPasswords } from '../../core/identity/ports.ts'

const load = createRequire(import.meta.url)

/** The 49,233 leaked passwords of the library's list, in lower case. The list is loaded on the first check, not at startup. */
export const makeListedCommonPasswords = (): CommonPasswords => {
  let listed: ReadonlySet<string> | undefined
  return {
    includes(password) {
      listed ??= new Set((load('@zxcvbn-ts/language-common') as typeof languageCommon).dictionary['passwords-common'])
      return listed.has(password)
    },
  }
}
