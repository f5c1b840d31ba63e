import test from 'ava'
import * as io from 'io-ts'
import { signedIn, write } from '../../plugins/kit/access.ts'
import { handle } from '../../plugins/kit/handle.ts'
import { left } from 'fp-ts/lib/Either.js'
import type { Outcome } from '../../core/kernel/failure.ts'
import { defineFailure } from '../../core/kernel/failure.ts'
import type { KeyedChange } from '../../core/kernel/idempotency.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { empty, versioned } from '../../plugins/kit/reply.ts'
import { defineRoute } from '../../plugins/kit/route.ts'
import { until } from '../support/until.ts'
import { counter } from './stub-routes.ts'
import { memoryIdempotency, startStubServer } from './stub-server.ts'
import { auth, bodyOf, jsonHeaders, send, server } from './binder.fixture.ts'

test.serial('a change with an Idempotency-Key happens once, and its answer is replayed', async (t) => {
  const post = (key: string, name: string) =>
    send(server, '/count', {
      method: 'POST',
      headers: { ...jsonHeaders, 'idempotency-key': key },
      body: JSON.stringify({ name }),
    })
  const before = counter.runs
  const first = await post('k1', 'x')
  const second = await post('k1', 'x')
  t.is(counter.runs, before + 1)
  t.is(second.status, 201)
  t.is(second.headers.get('idempotency-replayed'), 'true')
  t.is(first.headers.get('idempotency-replayed'), null)
  t.is(await second.text(), await first.text())
  t.is((await post('k1', 'y')).status, 422)
  t.is((await post('k2', 'taken')).status, 409)
  const replayed = await post('k2', 'taken')
  t.is(replayed.status, 409)
  t.is(replayed.headers.get('idempotency-replayed'), 'true')
})

test.serial('a request that failed on our side may be sent again with its key', async (t) => {
  const post = (name: string, key: string) =>
    send(server, '/count', {
      method: 'POST',
      headers: { ...jsonHeaders, 'idempotency-key': key },
      body: JSON.stringify({ name }),
    })
  const before = counter.runs
  t.is((await post('boom', 'k3')).status, 500)
  t.is((await post('boom', 'k3')).status, 500)
  t.is((await post('slow', 'k4')).status, 429)
  t.is((await post('slow', 'k4')).status, 429)
  t.is(counter.runs, before + 4)
})

test('a retry gets the committed response, and an early one Retry-After', async (t) => {
  const idempotency = memoryIdempotency()
  const route = defineRoute({
    id: 'stub.change',
    method: 'POST',
    path: '/change',
    summary: 's',
    tag: 'Miscellaneous',
    access: signedIn,
    scope: write('misc'),
    ok: versioned(201, io.type({ name: io.string }), { name: 'x' }),
    failures: [],
  })
  const Late = defineFailure('Late', 'Conflict', 'A failure of this test.')
  const refusingRoute = defineRoute({
    id: 'stub.refusing',
    method: 'POST',
    path: '/refusing',
    summary: 's',
    tag: 'Miscellaneous',
    access: signedIn,
    scope: write('misc'),
    ok: empty(204),
    failures: [Late],
  })
  /** What a unit of work does. */
  const commit = async (keyed: KeyedChange<never> | undefined) => {
    if (keyed?.answer !== undefined) await idempotency.answer(keyed.recordId, await keyed.answer('made' as never))
    keyed?.committed()
  }
  let hold: (() => void) | undefined
  const makeThenFail = async ({ keyed }: SignedInCall<string>): Outcome<never, string> => {
    await new Promise<void>((resolve) => void (hold = resolve))
    await commit(keyed)
    throw new Error('after the commit')
  }
  const change = handle(route, makeThenFail, { reply: (name) => ({ name }), version: () => 3 })
  const refusing = handle(refusingRoute, async ({ keyed }) => {
    await commit(keyed)
    return left(Late('It was late.'))
  })
  const server = await startStubServer([change, refusing], { idempotency })
  t.teardown(() => server.stop())
  const post = (path = '/change') =>
    send(server, path, { method: 'POST', headers: { ...auth, 'idempotency-key': 'k' } })
  const first = post()
  await until('the handler runs', () => hold)
  const early = await post()
  t.deepEqual(
    [early.status, early.headers.get('retry-after'), (await bodyOf(early))['code']],
    [409, '7', 'RequestInProgress'],
  )
  hold?.()
  t.is((await first).status, 500)
  const retry = await post()
  t.deepEqual(
    [retry.status, retry.headers.get('idempotency-replayed'), await bodyOf(retry)],
    [201, 'true', { name: 'made' }],
  )
  t.regex(retry.headers.get('etag') ?? '', /"/)
  const refused = await post('/refusing')
  const refusedAgain = await post('/refusing')
  t.deepEqual(
    [refused.status, refusedAgain.status, refusedAgain.headers.get('idempotency-replayed')],
    [409, 409, 'true'],
    'the same response is returned again',
  )
})
