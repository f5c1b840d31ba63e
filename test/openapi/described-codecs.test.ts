import test from 'ava'
import * as io from 'io-ts'
import { makeSchemaRegistry, schemaOf } from '../../composition/runtime/http/openapi/schema.ts'
import { answer, described, optional, request } from '../../plugins/kit/codecs.ts'

const Harbour = answer({ name: described(io.string, 'The name of the harbour.') }, 'Harbour')
const Boat = answer(
  {
    home: described(Harbour, 'Where the boat is kept.'),
    last: described(optional(Harbour), 'Where the boat was; absent if it never left.'),
  },
  'Boat',
)

test('the description of a field whose value is a component is beside the reference', (t) => {
  const registry = makeSchemaRegistry()
  schemaOf(Boat, registry)
  schemaOf(Harbour, registry)
  const $ref = '#/components/schemas/Harbour'
  t.deepEqual(registry.all(), {
    Boat: {
      type: 'object',
      properties: {
        home: { $ref, description: 'Where the boat is kept.' },
        last: { $ref, description: 'Where the boat was; absent if it never left.' },
      },
      required: ['home'],
    },
    Harbour: {
      type: 'object',
      properties: { name: { type: 'string', description: 'The name of the harbour.' } },
      required: ['name'],
    },
  })
})

test('a described component decodes, encodes and refuses as the component does', (t) => {
  const Option = request({ name: io.string }, 'HarbourOption')
  const copy = described(Option, 'The harbour to make.')
  for (const value of [{ name: 'Oslo' }, { name: 'Oslo', other: 1 }, { name: 7 }, 7, null]) {
    t.is(copy.decode(value)._tag, Option.decode(value)._tag)
  }
  t.deepEqual(copy.decode({ name: 'Oslo', other: 1 }), Option.decode({ name: 'Oslo', other: 1 }))
  t.deepEqual(copy.encode({ name: 'Oslo' }), { name: 'Oslo' })
})
