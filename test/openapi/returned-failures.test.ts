import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import ts from 'typescript'

/**
 * The compiler refuses a failure that a route does not declare. This test finds what is declared and never returned.
 */

/** The specification names the status 409 of this one, for sources of accounts that this service does not have. */
const namedBySpecification = ['signIn: EmailTaken']

const root = fileURLToPath(new URL('../..', import.meta.url))

const programOf = (files: readonly string[]): ts.Program => {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    readonly config: object
  }
  return ts.createProgram(files, ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root).options)
}

const parts = (type: ts.Type | undefined): readonly ts.Type[] =>
  type === undefined ? [] : type.isUnion() ? type.types : [type]

/** Returns the literals of the property `tag` of each part of a type. */
const tagsOf = (checker: ts.TypeChecker, type: ts.Type | undefined): readonly string[] =>
  parts(type).flatMap((part) => {
    const tag = part.getProperty('tag')
    return tag === undefined
      ? []
      : parts(checker.getTypeOfSymbol(tag)).flatMap((each) => (each.isStringLiteral() ? [each.value] : []))
  })

const propertyOf = (checker: ts.TypeChecker, type: ts.Type, name: string): ts.Type | undefined => {
  const property = type.getProperty(name)
  return property === undefined ? undefined : checker.getTypeOfSymbol(property)
}

/** Returns the tags of what a use case may return on the Left. */
const returnedBy = (checker: ts.TypeChecker, useCase: ts.Type): readonly string[] =>
  useCase.getCallSignatures().flatMap((signature) => {
    const outcome = checker.getAwaitedType(signature.getReturnType())
    return parts(outcome).flatMap((either) => tagsOf(checker, propertyOf(checker, either, 'left')))
  })

const declaredBy = (checker: ts.TypeChecker, route: ts.Type): readonly string[] => {
  const failures = propertyOf(checker, route, 'failures')
  return failures === undefined ? [] : tagsOf(checker, checker.getIndexTypeOfType(failures, ts.IndexKind.Number))
}

interface Binding {
  readonly route: string
  readonly declared: readonly string[]
  readonly unreturned: readonly string[]
}

/** Returns each call of `handle` in a file. */
const bindingsIn = (checker: ts.TypeChecker, file: ts.SourceFile): readonly Binding[] => {
  const found: Binding[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText() === 'handle') {
      const [route, useCase] = node.arguments
      if (route === undefined || useCase === undefined) throw new Error(`${file.fileName}: handle without a use case`)
      const declared = declaredBy(checker, checker.getTypeAtLocation(route))
      const returned = new Set(returnedBy(checker, checker.getTypeAtLocation(useCase)))
      found.push({ route: route.getText(), declared, unreturned: declared.filter((tag) => !returned.has(tag)) })
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

test('a route declares no failure that its use case cannot return', (t) => {
  t.timeout(300_000)
  const files = ts.sys.readDirectory(join(root, 'plugins'), ['.handlers.ts'])
  const program = programOf(files)
  const handlers = new Set(files)
  const bindings = program
    .getSourceFiles()
    .flatMap((file) => (handlers.has(file.fileName) ? bindingsIn(program.getTypeChecker(), file) : []))
  t.true(bindings.length > 300)
  t.true(bindings.filter(({ declared }) => declared.length > 0).length > 200, 'the tags are read')
  t.deepEqual(
    bindings.flatMap(({ route, unreturned }) => unreturned.map((tag) => `${route}: ${tag}`)),
    namedBySpecification,
  )
})
