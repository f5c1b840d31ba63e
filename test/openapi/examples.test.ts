import test from 'ava'
import * as t from 'io-ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { AssembledRoute } from '../../composition/assemble.ts'
import { toWireJson, parseJson } from '../../core/kernel/json.ts'
import { declaredRoutes } from '../support/declared-routes.ts'
import { sampleRoutes } from '../support/sample-routes.ts'

const problems = (codec: t.Any | undefined, example: unknown, where: string): readonly string[] => {
  if (codec === undefined) return []
  if (example === undefined) return [`${where}: no example`]
  const travelled = parseJson(toWireJson(example))
  const decoded = codec.decode(travelled.ok ? travelled.value : undefined) as t.Validation<unknown>
  if (!isLeft(decoded)) return []
  return decoded.left.map((error) => `${where}: ${error.context.map((entry) => entry.key).join('.')} is not ${error.context.at(-1)?.type.name ?? '?'}`)
}

const exampleProblems = ({ bound }: AssembledRoute): readonly string[] => {
  if (bound.kind === 'stream') return []
  const { id, body, ok } = bound.route
  const codec = ok.envelope?.codec ?? ((ok.kind === 'list' || ok.kind === 'feed') && ok.codec !== undefined ? t.array(ok.codec as t.Mixed) : ok.codec)
  return [
    ...problems(body?.codec, body?.example, `${id} body`),
    ...problems(codec, ok.example, `${id} answer`),
    ...(body?.whenAbsent === undefined ? [] : problems(body.codec, body.whenAbsent, `${id} absent body`)),
  ]
}

test('every example decodes with its codec, after a round trip through JSON', (assert) => {
  const routes = [...declaredRoutes(), ...sampleRoutes]
  assert.true(routes.length > sampleRoutes.length)
  assert.deepEqual(routes.flatMap(exampleProblems), [])
})

test('an example that does not decode is found', (assert) => {
  const [, create] = sampleRoutes
  if (create?.bound.kind !== 'json' || create.bound.route.body === undefined) return assert.fail('the sample has changed')
  const wrong = { ...create, bound: { ...create.bound, route: { ...create.bound.route, body: { ...create.bound.route.body, example: { name: 7 } } } } }
  assert.true(exampleProblems(wrong).length > 0)
})
