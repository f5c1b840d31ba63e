import { readFileSync } from 'node:fs'
import test from 'ava'
import { isRequestOf, stepsOfPage } from '../walk/walk-page.ts'

test('docs/walk.md has the steps of the walk, in its order, each with its requests', (t) => {
  const walk = readFileSync(new URL('../walk/walk.test.ts', import.meta.url), 'utf8')
  const steps = [...walk.matchAll(/^step\((['"])(.+)\1, /gm)].map(([, , title]) => title)
  t.deepEqual(
    stepsOfPage().map(({ title }) => title),
    steps,
  )
  for (const { title, requests } of stepsOfPage()) {
    t.true(requests.length > 0, title)
    for (const request of requests) t.regex(request, /^[A-Z]+ \$(?:VENDOR|MARKET|HOOKS|PROXY)\/\S+$/, title)
  }
})

test('the variables of a request on the page are filled by one segment each', (t) => {
  const onPage = 'GET $PROXY/metrics/$TENANT.$UID/api/v1/query'
  t.true(isRequestOf(onPage, 'GET $PROXY/metrics/7.4f9a/api/v1/query'))
  t.false(isRequestOf(onPage, 'GET $PROXY/metrics/7/api/v1/query'))
  t.false(isRequestOf(onPage, 'POST $PROXY/metrics/7.4f9a/api/v1/query'))
  t.false(isRequestOf(onPage, 'GET $VENDOR/metrics/7.4f9a/api/v1/query'))
  t.false(isRequestOf(onPage, 'GET $PROXY/metrics/7.4f9a/more/api/v1/query'))
})
