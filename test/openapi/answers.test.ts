import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import test from 'ava'
import type { OpenApiDocument, Operation } from '../../composition/http/openapi/document.ts'
import { documentPath } from '../../composition/http/openapi/document.ts'
import { password, startPopulatedService } from '../support/populated-service.ts'
import { targetOf } from '../support/route-targets.ts'
import type { ServiceAnswer } from '../support/send-json.ts'

type Validator = (operation: Operation, answer: ServiceAnswer) => string | undefined

/** Judges answers by the document that the service itself hands out. */
const makeValidator = (document: OpenApiDocument): Validator => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  for (const format of ['int64', 'int32', 'double']) ajv.addFormat(format, true)
  ajv.addSchema({ ...document, $id: 'moorage:' })
  return (operation, { status, json, headers }) => {
    const response = operation.responses[String(status)]
    if (response === undefined) return `the status ${status} is not documented`
    const schema = response.content?.['application/json']?.schema
    if (schema === undefined || !String(headers['content-type']).startsWith('application/json')) return undefined
    const text = JSON.stringify(schema).replaceAll('"#/components', '"moorage:#/components')
    return ajv.validate(JSON.parse(text) as object, json) ? undefined : ajv.errorsText()
  }
}

test('what the service answers is what its own document says', async (t) => {
  const service = await startPopulatedService()
  t.teardown(() => service.stop())
  const document = (await service.send('GET', '/api/v1/openapi.json')).json as OpenApiDocument
  const validate = makeValidator(document)
  const [alice, olga] = [await service.tokenFor('alice'), await service.tokenFor('olga')]
  const wrong: string[] = []
  const seen = new Map<number, number>()
  for (const route of service.running.assembly.routes.filter(({ bound }) => bound.kind === 'json')) {
    for (const method of route.methods) {
      const operation = document.paths[documentPath(route.bound.route.path)]?.[method.toLowerCase()] as Operation
      const credentials = route.bound.route.access.kind === 'password' ? [{ basic: ['vera', password] as const }] : [{ token: service.adminToken }, { token: alice }, { token: olga }, {}]
      for (const credential of credentials) {
        // Changes go without a body, or with an If-Match that no version meets: they are refused, as documented or not.
        const answer = await service.send(method, targetOf(route, service.world), { ...credential, ...(method === 'GET' || route.bound.kind === 'stream' || route.bound.route.body !== undefined ? {} : { headers: { 'If-Match': 'W/"never"' } }) })
        seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
        if (answer.status === 412) continue
        const problem = validate(operation, answer)
        if (problem !== undefined) wrong.push(`${method} ${route.fullPath} ${answer.status}: ${problem}; ${answer.text.slice(0, 200)}`)
      }
    }
  }
  const version = document.paths['/version']?.['get'] as Operation
  const answered = await service.send('GET', '/api/v1/version')
  t.is(validate(version, answered), undefined)
  t.regex(validate(version, { ...answered, json: { version: 7 } }) ?? '', /must be string/)
  t.regex(validate(version, { ...answered, status: 418 }) ?? '', /418/)
  for (const status of [200, 401, 403, 404, 422]) t.true((seen.get(status) ?? 0) > 5, `${status}: ${seen.get(status) ?? 0}`)
  t.deepEqual(wrong, [])
})
