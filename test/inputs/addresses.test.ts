// process: own - keeps its process busy
import test from 'ava'
import { propsOf } from '../../composition/runtime/http/request/decode.ts'
import { pathNames } from '../../composition/runtime/http/openapi/parameters.ts'
import { optionalInner, repeatedItem } from '../../plugins/kit/codecs.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { targetOf } from '../support/route-targets.ts'
import type { Asked } from './asking.ts'
import { askable, fault, makeRotation, withoutEffect } from './asking.ts'

/** Whoever is admitted to a change with it is told 412, and nothing happens. */
const harmless = { 'If-Match': 'W/"never"' }

const send = async (
  service: PopulatedService,
  { bound, credential }: Asked,
  target: string,
): Promise<Parameters<typeof fault>[0]> =>
  service.send(bound.route.method, target, {
    ...credential,
    ...(bound.route.method === 'GET' ? {} : { headers: harmless }),
  })

const integers = [
  '0',
  '-1',
  '01',
  '1.0',
  '1e3',
  '+1',
  '0x10',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '1'.repeat(40),
  '%D9%A1',
  'NaN',
  '12abc',
]
const names = [
  "'%20or%201=1--",
  '%27;drop%20table%20users',
  '%E2%80%AEname',
  '%F0%9F%9A%A2',
  'e%CC%81',
  'CON',
  '-dash',
  '.hidden',
  '__proto__',
  'constructor',
  'a'.repeat(254),
  'a'.repeat(900),
  '%25',
  '%2525',
  '*',
  'a%20b',
  '%C3%28',
]
const refused = ['%00', '%0d%0aSet-Cookie:%20a=b', '%2f', '%5c', '..', '%2e%2e', '%', '%zz', '%2']

/** A path parameter, and the address of its route with a text in its place. */
interface Place {
  readonly parameter: string
  readonly holding: (text: string) => string
}

const placesIn = ({ route }: Asked, service: PopulatedService): readonly Place[] => {
  const target = targetOf(route, service.fixture)
  const templates = route.fullPath.split('/')
  const filled = (target.split('?')[0] ?? '').split('/')
  const query = target.includes('?') ? `?${target.split('?')[1] ?? ''}` : ''
  return templates.flatMap((part, index) =>
    part.startsWith('{') || part === '*'
      ? [
          {
            parameter: part,
            holding: (text) => `${filled.map((old, at) => (at === index ? text : old)).join('/')}${query}`,
          },
        ]
      : [],
  )
}

test.serial('no path parameter brings the service out of step', async (t) => {
  await withoutEffect(t, async (service) => {
    const faults: string[] = []
    const rotation = makeRotation()
    for (const asked of askable(service).filter(
      ({ route }) => pathNames(route.fullPath).length > 0 && !route.fullPath.includes('/users/{username}/tokens'),
    )) {
      for (const { parameter, holding } of placesIn(asked, service)) {
        for (const text of rotation(`${asked.bound.route.method} ${parameter}`, [...integers, ...names])) {
          const path = holding(text)
          const found = fault(await send(service, asked, path))
          if (found !== undefined) faults.push(`${asked.bound.route.method} ${path.slice(0, 150)}: ${found}`)
        }
      }
    }
    return faults
  })
})

const withParameter = (target: string, text: string): string => `${target}${target.includes('?') ? '&' : '?'}${text}`

test.serial('no query brings the service out of step', async (t) => {
  const many = Array.from({ length: 2000 }, (_, index) => `k${index}=1`).join('&')
  const oddities = [
    '__proto__[polluted]=1',
    'constructor[prototype][polluted]=1',
    'a[b]=1',
    'a[]=1&a[]=2',
    'a=1;b=2',
    '=',
    '&&&',
    '%F0%9F%9A%A2=1',
    'toString=1',
    many,
  ]
  await withoutEffect(t, async (service) => {
    const faults: string[] = []
    const rotation = makeRotation()
    for (const asked of askable(service).filter(({ bound }) => bound.route.access.kind !== 'password')) {
      const target = targetOf(asked.route, service.fixture)
      const expect = async (text: string, wanted?: readonly number[]): Promise<void> => {
        const found = fault(await send(service, asked, withParameter(target, text)), wanted)
        if (found !== undefined)
          faults.push(`${asked.bound.route.method} ${target} with ${text.slice(0, 60)}: ${found}`)
      }
      for (const text of rotation(asked.bound.route.method, oddities)) await expect(text)
      for (const text of rotation('bad escape', ['a=%', 'a=%zz', 'a=%2'])) await expect(text, [400])
      for (const [name, codec] of Object.entries(propsOf(asked.bound.route.query))) {
        const isList = repeatedItem(optionalInner(codec) ?? codec) !== undefined
        // A token is a credential on every route, and two that differ are refused before the query is read.
        await expect(`${name}=1&${name}=2`, isList ? undefined : [name === 'token' ? 401 : 400])
        for (const value of rotation(`${name} ${codec.name}`, [
          ...integers,
          ...names.map(encodeURIComponent),
          'x'.repeat(8000),
          '%25_%25_',
        ]))
          await expect(`${name}=${value}`)
      }
    }
    return faults
  })
})

test.serial('a page beyond the end is empty, or refused where pages are linked by key', async (t) => {
  await withoutEffect(t, async (service) => {
    const faults: string[] = []
    const rotation = makeRotation()
    const numbers = ['0', '-1', '1000000000', '99999999999999999999', 'abc', '', '1.5', '1e3']
    const pages = numbers.flatMap((value) =>
      [`page=${value}`, `limit=${value}`, `page=${value}&limit=${value}`].map((text) => ({ value, text })),
    )
    for (const asked of askable(service).filter(
      ({ bound }) => bound.route.ok.kind === 'list' && bound.route.access.kind !== 'password',
    )) {
      const target = targetOf(asked.route, service.fixture)
      const isKeyed = asked.bound.route.ok.isKeyed === true
      for (const { value, text } of rotation(`list ${isKeyed}`, pages)) {
        const answer = await send(service, asked, withParameter(target, text))
        // Numbered pages of a list that is linked by key end.
        const isTooDeep = isKeyed && text.startsWith('page=') && Number(value) > 1_000 && value !== '1e3'
        const found = fault(answer, [isTooDeep ? 400 : 200])
        if (found !== undefined) faults.push(`${target} with ${text}: ${found}`)
        else if (isTooDeep) continue
        else if ((answer.json as readonly unknown[]).length > 50)
          faults.push(`${target} with ${text}: more than 50 items`)
      }
    }
    return faults
  })
})

test.serial('invalid path characters are refused before routing', async (t) => {
  await withoutEffect(t, async (service) => {
    const faults: string[] = []
    const rotation = makeRotation()
    for (const asked of askable(service)) {
      for (const { parameter, holding } of placesIn(asked, service)) {
        // What follows an identifier of the metrics proxy belongs to the system behind it.
        if (parameter === '*' && asked.route.fullPath.includes('/tsproxy/auth/')) continue
        // The name of an access token may have a slash.
        const isFree = asked.route.fullPath.endsWith('/users/{username}/tokens/{id}') && parameter === '{id}'
        const texts = isFree ? refused.filter((text) => text !== '%2f') : refused
        for (const path of rotation(`${asked.bound.route.method} ${parameter}`, texts)
          .map(holding)
          .filter((each) => !/\/\.\.?(\/|$|\?)|%2e/i.test(each))) {
          const found = fault(await send(service, asked, path), [400])
          if (found !== undefined) faults.push(`${asked.bound.route.method} ${path}: ${found}`)
        }
      }
    }
    return faults
  })
})
