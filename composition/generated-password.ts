import { randomInt } from 'node:crypto'

/** Without letters and digits that are taken for each other. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

/** About 99 bits, in four groups of five: easy to copy from a terminal. */
export const generatePassword = (): string =>
  Array.from({ length: 4 }, () => Array.from({ length: 5 }, () => alphabet.charAt(randomInt(alphabet.length))).join('')).join('-')
