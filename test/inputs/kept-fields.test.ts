// process: own - keeps its process busy
import { isRight } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import test from 'ava'
import { propsOf } from '../../composition/runtime/http/request/decode.ts'
import { isObject, isSameJson } from '../../core/kernel/json.ts'
import { objectNameOf, optionalInner } from '../../plugins/kit/codecs.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import { targetOf, templateOf } from '../support/route-targets.ts'
import type { FieldCases } from './kept-fields-cases.ts'
import { casesOf, notTried } from './kept-fields-cases.ts'
import type { JsonRoute } from './shown-objects.ts'
import { declaredJsonRoutes, readAt, shownRoutes } from './shown-objects.ts'

type Body = Readonly<Record<string, unknown>>

/** A route whose body has fields of an object, and the route that shows the object; without one, its own answer does. */
interface Writer {
  readonly write: JsonRoute
  readonly read: JsonRoute | undefined
  readonly isCreation: boolean
}

/** Routes that show what another one makes, where that is not below its address. */
const readElsewhere: Readonly<Record<string, string>> = { 'organizations.createTeam': 'organizations.getTeam' }

const answerFields = ({ bound }: JsonRoute): readonly string[] => {
  const { ok } = bound.route
  if (ok.kind !== 'json' && ok.kind !== 'versioned') return []
  const item = (ok.codec as { readonly type?: t.Any }).type
  return Object.keys(propsOf(item ?? ok.codec))
}

/** Every route whose body has a field that an answer shows. */
const writers: readonly Writer[] = declaredJsonRoutes.flatMap((write): readonly Writer[] => {
  const { method, body, id } = write.bound.route
  if (!['POST', 'PUT', 'PATCH'].includes(method) || body === undefined) return []
  const same = readAt(write.fullPath)
  const made = shownRoutes.find(({ bound }) => bound.route.id === readElsewhere[id]) ?? readAt(`${write.fullPath}/{}`)
  const read = same ?? made
  const shown = answerFields(read ?? write)
  const isOfObject = Object.keys(propsOf(body.codec)).some((field) => shown.includes(field))
  return isOfObject ? [{ write, read, isCreation: same === undefined && method === 'POST' }] : []
})

interface Field {
  /** `field`, or `object/field`. */
  readonly path: string
  readonly codec: t.Any
}

const fieldsOf = (codec: t.Any): readonly Field[] =>
  Object.entries(propsOf(codec)).flatMap(([name, each]): readonly Field[] => {
    const inner = Object.entries(propsOf(optionalInner(each) ?? each))
    return inner.length === 0
      ? [{ path: name, codec: each }]
      : inner.map(([innerName, own]) => ({ path: `${name}/${innerName}`, codec: own }))
  })

const valueAt = (body: Body, path: string): unknown =>
  path.split('/').reduce<unknown>((from, key) => (isObject(from) ? from[key] : undefined), body)

const nested = (path: string, value: unknown): Body => {
  const [name = '', inner] = path.split('/')
  return { [name]: inner === undefined ? value : { [inner]: value } }
}

/** Returns a body with the fields of another one, also those of the objects in it. */
const withFields = (body: Body, more: Body): Body => ({
  ...body,
  ...Object.fromEntries(
    Object.entries(more).map(([name, value]) => {
      const present = body[name]
      return [name, isObject(present) && isObject(value) ? { ...present, ...value } : value]
    }),
  ),
})

const texts = ['changed', 'changed@example.com', 'https://changed.example', '#123456']

/** Values that differ from the present one, and that the codec of a field accepts. */
const otherValues = (codec: t.Any, present: unknown): readonly unknown[] => {
  const inner = optionalInner(codec) ?? codec
  const words = Object.keys((inner as { readonly keys?: object }).keys ?? {}).filter((word) => word !== '')
  const number = typeof present === 'number' ? present : 0
  return [...words, present !== true, number + 1, number + 7, ...texts, ...texts.map((text) => [text])].filter(
    (value) => !isSameJson(value, present ?? null) && isRight(inner.decode(value)),
  )
}

const objectOf = (json: unknown): Body => {
  const one: unknown = Array.isArray(json) ? json[0] : json
  return isObject(one) ? one : {}
}

/** Returns the address of the object that a request has made. */
const madeAt = (service: PopulatedService, read: JsonRoute, answer: Body): string => {
  const parameter = /\{([^{}]*)\}[^{}]*$/.exec(templateOf(read))?.[1] ?? ''
  const named = objectNameOf(propsOf(read.bound.route.params)[parameter] as t.Any)
  const isById = typeof named === 'object' && named.by === 'id'
  const key = isById ? answer['id'] : (answer['name'] ?? answer['login'])
  return targetOf(read, service.fixture).replace(/[^/?]*(?=\?|$)/, String(key))
}

interface Trial {
  readonly service: PopulatedService
  readonly writer: Writer
  readonly cases: FieldCases
  readonly token: string
}

let requests = 0

/** Sends a value of a field, and returns the object as it is shown then, or the answer that refuses it. */
const write = async ({ service, writer, cases, token }: Trial, base: Body, own: Body): Promise<Body | string> => {
  const { write: route, read, isCreation } = writer
  requests += 1
  const body = withFields(withFields(base, cases.beside?.(requests) ?? {}), own)
  const answer = await service.send(route.bound.route.method, targetOf(route, service.fixture), { token, body })
  if (answer.status >= 300) return `${answer.status} ${answer.text.slice(0, 160)}`
  if (read === undefined) return objectOf(answer.json)
  const address = isCreation ? madeAt(service, read, objectOf(answer.json)) : targetOf(read, service.fixture)
  const shown = await service.send('GET', address, { token })
  return shown.status === 200 ? objectOf(shown.json) : `GET ${address}: ${shown.status}`
}

/** Returns what is wrong with a field: no value is accepted, or what is shown is not what was sent. */
const faultOf = async (trial: Trial, base: Body, { path, codec }: Field): Promise<string | undefined> => {
  const { values = {}, beside, shownAs = {}, toShown = {} } = trial.cases
  const fixed = valueAt(beside?.(requests + 1) ?? {}, path)
  const given = values[path] ?? fixed
  const tried = given === undefined ? otherValues(codec, valueAt(base, path)) : [given]
  let refused = 'give a value in kept-fields-cases.ts'
  for (const value of tried) {
    const shown = await write(trial, base, nested(path, value))
    if (typeof shown === 'string') {
      refused = shown
      continue
    }
    const found = valueAt(shown, shownAs[path] ?? path)
    const wanted = toShown[path]?.(value) ?? value
    return isSameJson(found ?? null, wanted)
      ? undefined
      : `${JSON.stringify(value)} was sent, ${JSON.stringify(found)} is shown`
  }
  return refused
}

/** What a request has beside a field: the object as it is shown, or the body of a new one. */
const baseOf = async ({ service, writer, token }: Trial): Promise<Body> => {
  const { write: route, read, isCreation } = writer
  const { body, id } = route.bound.route
  const sample = objectOf(service.samples.bodiesOf(id)?.bodies?.(service.fixture, service.fixture).own ?? body?.example)
  if (isCreation || read === undefined) return sample
  const shown = objectOf((await service.send('GET', targetOf(read, service.fixture), { token })).json)
  const known = Object.keys(propsOf(body?.codec))
  return { ...sample, ...Object.fromEntries(Object.entries(shown).filter(([field]) => known.includes(field))) }
}

/** Returns the cases that name no route or no field of it. */
const unknownCases = (all: Readonly<Record<string, FieldCases>>): readonly string[] => {
  const known = new Set(
    writers.flatMap(({ write: { bound } }) => [
      bound.route.id,
      ...fieldsOf(bound.route.body?.codec as t.Any).map(({ path }) => `${bound.route.id} ${path}`),
    ]),
  )
  const named = Object.entries(all).flatMap(([id, { values, skipped, shownAs, toShown }]) =>
    Object.keys({ ...values, ...skipped, ...shownAs, ...toShown }).map((path) => `${id} ${path}`),
  )
  return [...Object.keys(notTried), ...named].filter((each) => !known.has(each))
}

test('each field that a route accepts is saved and shown', async (t) => {
  t.timeout(600_000)
  const service = await startPopulatedService()
  t.teardown(() => service.stop())
  const all = casesOf(service)
  const alice = await service.tokenFor('alice')
  const served = new Set(service.running.assembly.routes.map(({ bound }) => bound.route.id))
  const faults: string[] = []
  let tried = 0
  for (const writer of writers) {
    const { id, body, access } = writer.write.bound.route
    if (!served.has(id) || notTried[id] !== undefined || body === undefined) continue
    const cases = all[id] ?? {}
    const trial = { service, writer, cases, token: access.kind === 'site-admin' ? service.adminToken : alice }
    const base = await baseOf(trial)
    for (const field of fieldsOf(body.codec)) {
      if (cases.skipped?.[field.path] !== undefined) continue
      tried += 1
      const fault = await faultOf(trial, base, field)
      if (fault !== undefined) faults.push(`${id} ${field.path}: ${fault}`)
    }
  }
  t.deepEqual(unknownCases(all), [])
  t.true(tried > 100, `${tried} fields`)
  t.deepEqual(faults, [])
})
