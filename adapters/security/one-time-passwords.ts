import { Secret as Seed, TOTP } from 'otpauth'
import type { OneTimePasswords, QrCodes } from '../../core/identity/second-factor/ports.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'

const seedBytes = 20
const periodSeconds = 30
/** The defaults of every authenticator app. */
const shape = { algorithm: 'SHA1', digits: 6, period: periodSeconds } as const
/** Steps before and after the current one whose codes are accepted, for clocks that are slightly off. */
const stepsOff = 1

const opened = (seed: Secret): Seed => Seed.fromBase32(seed.reveal())

/**
 * RFC 6238 by the library `otpauth`, which compares codes in constant time. The store ensures that a code is used only
 * once.
 */
export const otpauthOneTimePasswords: OneTimePasswords = {
  newSeed: () => secret(new Seed({ size: seedBytes }).base32),
  uri: (seed, issuer, accountName) =>
    secret(new TOTP({ ...shape, issuer, label: accountName, issuerInLabel: true, secret: opened(seed) }).toString()),
  stepOf(seed, code, now) {
    const timestamp = now.getTime()
    const delta = TOTP.validate({ ...shape, token: code, secret: opened(seed), timestamp, window: stepsOff })
    return delta === null ? undefined : TOTP.counter({ period: periodSeconds, timestamp }) + delta
  },
}

const pixelsPerModule = 6

/** QR codes by the library `qrcode`, drawn in this process: the text is sent nowhere. */
export const pngQrCodes: QrCodes = {
  async dataUrl(text) {
    const { toDataURL } = await import('qrcode')
    return toDataURL(text.reveal(), { type: 'image/png', errorCorrectionLevel: 'M', scale: pixelsPerModule })
  },
}
