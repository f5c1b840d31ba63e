import { deflateSync } from 'node:zlib'
import { crc32 } from 'node:zlib'
import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import sharp from 'sharp'
import { makeSharpPictureMaker } from '../../adapters/pictures/sharp-picture-maker.ts'
import { makeAccountLimiter } from '../../adapters/outbound/account-limiter.ts'
import { Busy } from '../../core/kernel/failure.ts'
import { unwrap } from '../support/outcome.ts'

const sharpPictureMaker = makeSharpPictureMaker((_bytes, work) => work())
const plain = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: { r: 200, g: 30, b: 90 } } })

test('a picture with a small side becomes a square of that side', async (t) => {
  for (const [width, height] of [
    [85, 385],
    [385, 85],
    [1, 300],
  ] as const) {
    const bytes = await sharp({ create: { width, height, channels: 3, background: 'teal' } })
      .png()
      .toBuffer()
    const made = await sharp(unwrap(await sharpPictureMaker.square(bytes, 290))).metadata()
    t.deepEqual([made.width, made.height], [Math.min(width, height), Math.min(width, height)])
  }
})

test('each accepted kind becomes a square PNG within the requested size', async (t) => {
  const sources = {
    png: await plain(300, 200).png().toBuffer(),
    jpeg: await plain(300, 200).jpeg().toBuffer(),
    gif: await plain(300, 200).gif().toBuffer(),
    webp: await plain(300, 200).webp().toBuffer(),
  }
  for (const [kind, bytes] of Object.entries(sources)) {
    const made = await sharp(unwrap(await sharpPictureMaker.square(bytes, 128))).metadata()
    t.deepEqual([made.format, made.width, made.height], ['png', 128, 128], kind)
  }
})

test('metadata of the file is removed', async (t) => {
  const withPlace = await plain(64, 64)
    .withExif({ IFD0: { Artist: 'canary-artist' }, IFD3: { GPSLatitude: '51/1 30/1 0/1' } })
    .jpeg()
    .toBuffer()
  t.true(withPlace.includes('canary-artist'))
  const made = Buffer.from(unwrap(await sharpPictureMaker.square(withPlace, 64)))
  t.false(made.includes('canary-artist'))
  t.is((await sharp(made).metadata()).exif, undefined)
})

test('other kinds are refused, scripts first', async (t) => {
  const refused = [
    '<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>',
    '%PDF-1.7',
    '<html>',
    '',
    'BM',
    '\u0000\u0000\u0000\u0020ftypheic',
  ]
  for (const text of refused) t.true(isLeft(await sharpPictureMaker.square(Buffer.from(text, 'latin1'), 64)), text)
})

/** A PNG whose head promises many pixels: small in the file, large in memory. */
const bomb = (width: number, height: number): Uint8Array => {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
    const length = Buffer.alloc(4)
    length.writeUInt32BE(data.length)
    const check = Buffer.alloc(4)
    check.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, check])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([1, 0, 0, 0, 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.alloc(1024))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

test('a picture that decodes to an excessive size is refused undecoded', async (t) => {
  t.true(isLeft(await sharpPictureMaker.square(bomb(50_000, 50_000), 64)))
})

test('of many pictures some are drawn and the others refused at once', async (t) => {
  const bytes = await plain(300, 200).png().toBuffer()
  const limiter = makeAccountLimiter({ pool: 'test', inAll: 1, perAccount: 1, waitingPerAccount: 2 })
  const maker = makeSharpPictureMaker((size, work) => limiter.run({ account: 1, bytes: size }, work))
  const made = await Promise.allSettled(Array.from({ length: 10 }, () => maker.square(bytes, 64)))
  const refused = made.filter((one) => one.status === 'rejected')
  t.is(refused.length, 7)
  t.true(refused.every(({ reason }) => reason instanceof Busy))
  t.false(isLeft(await maker.square(bytes, 64)))
})

test('bytes after a genuine beginning never throw', async (t) => {
  const beginnings = [
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
    [0xff, 0xd8, 0xff],
    [0x47, 0x49, 0x46, 0x38, 0x39, 0x61],
  ]
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...beginnings), fc.uint8Array({ maxLength: 200 }), async (beginning, rest) => {
      await sharpPictureMaker.square(Uint8Array.from([...beginning, ...rest]), 32)
    }),
    { numRuns: 100 },
  )
  t.pass()
})
