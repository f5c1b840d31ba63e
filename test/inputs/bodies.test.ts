// process: own - keeps its process busy
import { gzipSync } from 'node:zlib'
import test from 'ava'
import { request } from 'undici'
import { Id } from '../../plugins/kit/codecs.ts'
import type { BodySpec } from '../../plugins/kit/route.ts'
import { body as bodyOf } from '../../plugins/kit/route.ts'
import { targetOf } from '../support/route-targets.ts'
import { askable, fault, makeRotation, withoutEffect } from './asking.ts'
import { badBodies, malformed, nested } from './mutations.ts'

test('a fault is seen', (t) => {
  const answer = {
    status: 500,
    headers: { 'content-type': 'application/json' },
    text: '',
    json: { message: 'm', url: 'u', code: 'InternalError' },
  }
  t.regex(fault(answer) ?? '', /^500/)
  t.is(fault({ ...answer, status: 422 }), undefined)
  t.regex(fault({ ...answer, status: 422 }, [400]) ?? '', /not 400/)
  t.regex(fault({ ...answer, status: 404, json: {} }) ?? '', /documented body/)
  t.true(badBodies(bodyOf(Id, 1) as unknown as BodySpec<unknown>).length >= 10)
})

test.serial('every mutation that a codec refuses is refused as documented', async (t) => {
  await withoutEffect(t, async (service) => {
    const faults: string[] = []
    let asked = 0
    const rotation = makeRotation()
    for (const { route, bound, credential } of askable(service)) {
      const { body } = bound.route
      if (body === undefined) continue
      const bad = badBodies(body)
      t.true(bad.length >= 10, `${bound.route.id} has ${bad.length} mutations`)
      // The codec has refused each of them; what is asked here is how the refusal is told, and that nothing happens.
      for (const { what, text } of rotation(bound.route.method, bad)) {
        asked += 1
        const answer = await service.send(bound.route.method, targetOf(route, service.fixture), {
          ...credential,
          body: text,
        })
        const found = fault(answer, [body.refusedAs ?? 422])
        if (found !== undefined) faults.push(`${bound.route.id}, ${what}: ${found}`)
      }
    }
    t.true(asked > 500, `${asked} requests`)
    t.log(`${asked} requests`)
    return faults
  })
})

test.serial('invalid, deep, large, compressed and mistyped bodies are refused unread', async (t) => {
  await withoutEffect(t, async (service) => {
    const faults: string[] = []
    const rotation = makeRotation()
    for (const { route, bound, credential } of askable(service)) {
      const { body, method, id } = bound.route
      if (body === undefined) continue
      const target = targetOf(route, service.fixture)
      const expect = async (
        what: string,
        wanted: number,
        headers: Readonly<Record<string, string>>,
        text: string,
      ): Promise<void> => {
        const found = fault(await service.send(method, target, { ...credential, headers, body: text }), [wanted])
        if (found !== undefined) faults.push(`${id}, ${what}: ${found}`)
      }
      const reader = `${body.malformedAs} ${body.limitBytes} ${body.orForm}`
      const json = { 'Content-Type': 'application/json' }
      for (const text of rotation(`${reader} malformed`, malformed))
        await expect(`malformed ${JSON.stringify(text)}`, body.malformedAs ?? 400, json, text)
      for (const depth of rotation(`${reader} depth`, [65, 1000, 200_000]))
        await expect(
          `depth ${depth}`,
          nested(depth).length > (body.limitBytes ?? 1_048_576) ? 413 : 400,
          json,
          nested(depth),
        )
      const types = [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/xml',
        'application/json; charset=utf-16',
        'application/jsonx',
      ]
      for (const type of rotation(`${reader} type`, types))
        await expect(
          type,
          body.orForm === true && type.startsWith('multipart') ? 400 : 415,
          { 'Content-Type': type },
          '{}',
        )
      for (const encoding of rotation(`${reader} encoding`, ['gzip', 'deflate', 'br', 'gzip, gzip']))
        await expect(encoding, 415, { ...json, 'Content-Encoding': encoding }, gzipSync('{}').toString('latin1'))
      await expect('too large', 413, json, `"${'x'.repeat((body.limitBytes ?? 1_048_576) + 1)}"`)
    }
    return faults
  })
})

test.serial('bytes that are no UTF-8 are refused', async (t) => {
  await withoutEffect(t, async (service) => {
    const faults: string[] = []
    for (const { route, bound } of askable(service)) {
      if (bound.route.body === undefined || bound.route.access.kind === 'password') continue
      const headers = { authorization: `token ${service.adminToken}`, 'content-type': 'application/json' }
      const body = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])
      const reply = await request(service.baseUrl + targetOf(route, service.fixture), {
        method: bound.route.method,
        headers,
        body,
      })
      await reply.body.dump()
      if (reply.statusCode !== 400) faults.push(`${bound.route.id}: ${reply.statusCode}`)
    }
    return faults
  })
})
