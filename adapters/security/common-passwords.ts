import { readFileSync } from 'node:fs'
import type { CommonPasswords } from '../../core/identity/ports.ts'

/**
 * The 42,692 printable ASCII passwords of six characters and more from the list of @zxcvbn-ts/language-common 4.1.3
 * (MIT, https://github.com/zxcvbn-ts/zxcvbn), ordered by how often they were found in leaks before we sorted them;
 * 17,950 of them have eight characters or more. One a line, lower case.
 */
const listFile = new URL('./common-passwords.txt', import.meta.url)

/** Searches the bundled list as text: no set of strings is built for a check that is made once in a while. */
export const makeListedCommonPasswords = (): CommonPasswords => {
  let text: string | undefined
  return {
    includes(password) {
      if (password === '' || password.includes('\n')) return false
      text ??= `\n${readFileSync(listFile, 'latin1')}`
      return text.includes(`\n${password}\n`)
    },
  }
}
