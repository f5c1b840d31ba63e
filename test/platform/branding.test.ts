import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { makeSqlBrandingStore } from '../../adapters/sql/platform/branding-store.ts'
import { maxPictureBytes, mergeBranding, pictureProblem, plainBranding } from '../../core/platform/branding.ts'
import { eachDatabase } from '../support/databases.ts'
import { unwrap } from '../support/outcome.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'

const starts = {
  'image/png': [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  'image/jpeg': [0xff, 0xd8, 0xff, 0xe0],
  'image/webp': [0x52, 0x49, 0x46, 0x46, 1, 2, 3, 4, 0x57, 0x45, 0x42, 0x50],
} as const
type Kind = keyof typeof starts
const kinds = Object.keys(starts) as readonly Kind[]
const dataUrl = (kind: string, start: readonly number[], length = 64): string => {
  const bytes = Buffer.alloc(Math.max(length, start.length), 7)
  bytes.set(start)
  return `data:${kind};base64,${bytes.toString('base64')}`
}
const png = dataUrl('image/png', starts['image/png'])
const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'

test('pictures of the three kinds are taken up to their size, whatever follows the first bytes', (t) => {
  fc.assert(
    fc.property(fc.constantFrom(...kinds), fc.integer({ min: 12, max: maxPictureBytes }), (kind, length) => {
      t.is(pictureProblem(dataUrl(kind, starts[kind], length)), undefined)
    }),
    { numRuns: 60 },
  )
  for (const over of [1, 2, 3]) t.regex(pictureProblem(dataUrl('image/png', starts['image/png'], maxPictureBytes + over)) ?? '', /256 KiB/)
})

test('what claims to be another kind, SVG and everything that is no picture is refused', (t) => {
  for (const claimed of kinds) {
    for (const real of kinds.filter((kind) => kind !== claimed)) t.truthy(pictureProblem(dataUrl(claimed, starts[real])), `${real} as ${claimed}`)
    t.truthy(pictureProblem(`data:${claimed};base64,${Buffer.from(svg).toString('base64')}`), `SVG as ${claimed}`)
  }
  const refused = [
    `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`, `data:image/svg+xml,${svg}`, `data:text/html;base64,${png.split(',')[1]}`,
    'https://evil.example/logo.png', 'javascript:alert(1)', png.replace('base64,', ''), `${png}\n`, ` ${png}`, png.replace('image/png', 'IMAGE/PNG'), 'data:image/png;base64,', `${png}" onerror="x`,
  ]
  for (const text of refused) t.truthy(pictureProblem(text), text.slice(0, 40))
  fc.assert(fc.property(fc.string({ minLength: 1 }), (text) => void t.truthy(pictureProblem(text))))
})

test('an absent field stays, an empty one goes back to the plain look, and nothing else gets through', (t) => {
  const chosen = { logo: png, favicon: png, primaryColor: '#112233', showAppTag: false, appName: 'Harbour' }
  const current = unwrap(mergeBranding(plainBranding, chosen))
  t.deepEqual(current, chosen)
  t.deepEqual(unwrap(mergeBranding(current, {})), current)
  t.deepEqual(unwrap(mergeBranding(current, { logo: '', favicon: '', primaryColor: '', showAppTag: true, appName: '' })), plainBranding)
  t.is(unwrap(mergeBranding(current, { primaryColor: '#AbCdEf' })).primaryColor, '#abcdef')
  for (const primaryColor of ['red', '#12345', '#1234567', '123456', '#12345g', '#123456;']) t.true(isLeft(mergeBranding(current, { primaryColor })), primaryColor)
  for (const appName of ['x'.repeat(65), 'a\nb', 'a\u0000b']) t.true(isLeft(mergeBranding(current, { appName })))
  fc.assert(
    fc.property(fc.record({ primaryColor: fc.string(), appName: fc.string() }, { requiredKeys: [] }), (some) => {
      const merged = mergeBranding(current, some)
      if (isRight(merged)) t.true(/^#[0-9a-f]{6}$/.test(merged.right.primaryColor) && merged.right.appName.length >= 1 && merged.right.appName.length <= 64)
    }),
  )
})

for (const database of eachDatabase()) {
  test(`${database.name}: the look is kept as it was chosen, also the largest pictures`, async (t) => {
    const db = await database.open()
    t.teardown(() => db.close())
    const store = makeSqlBrandingStore(db)(db)
    t.is(await store.read(), undefined)
    const largest = dataUrl('image/jpeg', starts['image/jpeg'], maxPictureBytes)
    const look = { ...plainBranding, logo: largest, favicon: png, appName: 'Häfen 🛶', showAppTag: false }
    await store.put(plainBranding)
    await store.put(look)
    t.deepEqual(await store.read(), look)
  })
}

let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service?.stop())

test.serial('branding over HTTP: public with an ETag, changed by site admins, recorded', async (t) => {
  const path = '/api/v1/branding'
  const change = (body: object, token: string | undefined = service.adminToken) => service.send('POST', path, { ...(token === undefined ? {} : { token }), body })
  const first = await service.send('GET', path)
  t.deepEqual([first.status, first.json.appName, first.json.favicons, first.json.isOfflineInstaller], [200, 'Moorage', {}, false])
  t.is((await service.send('GET', path, { headers: { 'If-None-Match': String(first.headers['etag']) } })).status, 304)
  t.is((await service.send('POST', path, { body: { appName: 'Mine' } })).status, 401)
  t.is((await change({ appName: 'Harbour', logo: dataUrl('image/png', starts['image/png'], maxPictureBytes), favicon: dataUrl('image/webp', starts['image/webp'], maxPictureBytes) })).status, 200)
  const after = await service.send('GET', path, { headers: { 'If-None-Match': String(first.headers['etag']) } })
  t.deepEqual([after.status, after.json.appName, Object.keys(after.json.favicons)], [200, 'Harbour', ['icon']])
  const refused = await change({ logo: `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}` })
  t.deepEqual([refused.status, refused.json.code], [422, 'BrandingRefused'])
  t.is((await change({ showAppTag: 'yes' })).status, 422)
  t.is((await change({ appName: 'Harbour' })).status, 200)
})
