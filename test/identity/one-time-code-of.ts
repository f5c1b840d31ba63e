import { createHmac } from 'node:crypto'

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

const bytesOfBase32 = (text: string): Buffer => {
  const bits = [...text].map((letter) => letters.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from(
    Array.from({ length: Math.floor(bits.length / 8) }, (_, i) => Number.parseInt(bits.slice(i * 8, i * 8 + 8), 2)),
  )
}

export const base32Of = (bytes: Uint8Array): string => {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((five) => letters.charAt(Number.parseInt(five.padEnd(5, '0'), 2))).join('')
}

/** What an authenticator app shows, written from RFC 4226 and 6238 without the library that the service uses. */
export const codeOfStep = (seedBase32: string, step: number, digits = 6): string => {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', bytesOfBase32(seedBase32)).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 15
  const number = (mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** digits
  return String(number).padStart(digits, '0')
}

export const stepAt = (at: Date): number => Math.floor(at.getTime() / 30_000)
export const codeAt = (seedBase32: string, at: Date, stepsOff = 0): string =>
  codeOfStep(seedBase32, stepAt(at) + stepsOff)
