import test from 'ava'
import { makeContainer } from '../../composition/container.ts'
import { token } from '../../core/kernel/token.ts'

interface Greeter {
  greet(): string
}
const GreeterToken = token<Greeter>('test.Greeter')
const NameToken = token<string>('test.Name')

test('a factory runs once, when the port is first resolved', (t) => {
  const container = makeContainer()
  let made = 0
  container.provideValue(NameToken, 'quay')
  container.provide(GreeterToken, (resolve) => {
    made += 1
    const name = resolve(NameToken)
    return { greet: () => `hello ${name}` }
  })
  t.is(made, 0)
  t.is(container.resolve(GreeterToken).greet(), 'hello quay')
  t.is(container.resolve(GreeterToken), container.resolve(GreeterToken))
  t.is(made, 1)
})

test('falsy values are values', (t) => {
  const container = makeContainer()
  container.provideValue(NameToken, '')
  t.is(container.resolve(NameToken), '')
})

test('an unknown port is named, together with who needs it', (t) => {
  const container = makeContainer()
  container.provide(GreeterToken, (resolve) => ({ greet: () => resolve(NameToken) }))
  t.throws(() => container.resolve(NameToken), { message: /Nothing provides the port test\.Name/ })
  const eager = makeContainer()
  eager.provide(GreeterToken, (resolve) => {
    const name = resolve(NameToken)
    return { greet: () => name }
  })
  t.throws(() => eager.resolve(GreeterToken), { message: /test\.Name, which test\.Greeter needs/ })
})

test('ports that need each other are reported as a circle, not as a stack overflow', (t) => {
  const container = makeContainer()
  container.provide(NameToken, (resolve) => resolve(GreeterToken).greet())
  container.provide(GreeterToken, (resolve) => ({ greet: () => '', name: resolve(NameToken) }))
  t.throws(() => container.resolve(NameToken), { message: /circle: test\.Name -> test\.Greeter -> test\.Name/ })
})

test('the last provider wins until the port is in use, then it is refused', (t) => {
  const container = makeContainer()
  container.provideValue(NameToken, 'first')
  container.provideValue(NameToken, 'second')
  t.is(container.resolve(NameToken), 'second')
  t.throws(() => container.provideValue(NameToken, 'third'), { message: /already in use/ })
})

test('two containers share nothing', (t) => {
  const one = makeContainer()
  one.provideValue(NameToken, 'one')
  t.true(one.has(NameToken))
  t.false(makeContainer().has(NameToken))
})
