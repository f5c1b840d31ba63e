import type { Entropy, Secret } from './secret.ts'
import { randomBase62, secret } from './secret.ts'

/** 43 base62 characters are slightly more than 256 bits. */
const keyLength = 43
const keyForm = /^[0-9A-Za-z]{43}$/

/**
 * Returns the key of a browser that is signing in, which its cookie keeps. A browser that has one keeps it, so that
 * several tabs can wait at once.
 */
export const browserKeyOr = (entropy: Entropy, known: Secret | undefined): Secret =>
  known !== undefined && keyForm.test(known.reveal()) ? known : secret(randomBase62(entropy, keyLength))
