/**
 * The ESLint rule for the first line of a test file (test/support/shared-processes.ts). A file that shares its process with
 * others must not change what they see, act before each of their tests, or wait at its top level: ava runs the tests once
 * the files before it are loaded. A file that waits for components or programs must say so.
 */

const ofProcess = new Set(['abort', 'chdir', 'exit', 'kill', 'on', 'once', 'umask', 'setuid'])
const eachHooks = new Set(['beforeEach', 'afterEach'])
const ownImports = [
  [/^sinon$/, 'it replaces the clock'],
  [/\/service-process\.ts$/, 'it starts a service as a process'],
  [/\/small-disk\.ts$/, 'it fills a disk'],
]
const waitingImports = /^(node:)?child_process$/

const isMember = (node, object) => node?.type === 'MemberExpression' && node.object.name === object
/** `process.env`, or a variable in it. */
const isEnvironment = (node) =>
  node?.type === 'MemberExpression' &&
  ((isMember(node, 'process') && node.property.name === 'env') || isEnvironment(node.object))

export const processRule = {
  meta: { type: 'problem', schema: [], messages: { own: '{{why}}: {{form}}', waiting: '{{why}}: {{form}}' } },
  create(context) {
    const first = context.sourceCode.lines[0] ?? ''
    const [, need] = /^\/\/ process: (own|waiting) - \S/.exec(first) ?? []
    if (need === 'own') return {}
    const report = (node, why, kind = 'own') => {
      if (kind === 'waiting' && need === 'waiting') return
      const form = `the first line of the file must be "// process: ${kind} - REASON"`
      context.report({ node, messageId: kind, data: { why, form } })
    }
    let depth = 0
    const enter = () => void (depth += 1)
    const leave = () => void (depth -= 1)
    return {
      ':function': enter,
      ':function:exit': leave,
      ImportDeclaration({ source, ...node }) {
        for (const [form, why] of ownImports) if (form.test(source.value)) report(source, why)
        if (waitingImports.test(source.value)) report(node.specifiers[0] ?? source, 'it runs programs', 'waiting')
      },
      AwaitExpression(node) {
        if (depth === 0) report(node, 'it waits at its top level')
      },
      AssignmentExpression(node) {
        if (isEnvironment(node.left)) report(node, 'it changes its environment')
        if (isMember(node.left, 'process') && node.left.property.name !== 'env') report(node, 'it changes its process')
      },
      'UnaryExpression[operator="delete"]'(node) {
        if (isEnvironment(node.argument)) report(node, 'it changes its environment')
      },
      TSTypeReference(node) {
        if (node.typeName.name === 'TestFn') report(node, 'the context of tests is one for the process')
      },
      CallExpression(node) {
        const { callee } = node
        if (callee.name === 'needing') {
          if (node.typeArguments === undefined || node.typeArguments === null)
            report(node, 'it uses components', 'waiting')
          else report(node, 'the context of tests is one for the process')
        }
        if (callee.type !== 'MemberExpression') return
        const name = callee.property.name
        if (isMember(callee, 'Object') && name === 'assign' && isEnvironment(node.arguments[0]))
          report(node, 'it changes its environment')
        if (isMember(callee, 'process') && ofProcess.has(name)) report(node, 'it ends or changes its process')
        else if (name === 'kill') report(node, 'it kills what it uses')
        if (eachHooks.has(name)) report(node, 'it acts before or after each test')
      },
      'Property[key.name="ownServer"]'(node) {
        if (node.value.value === true) report(node, 'an API server of its own computes until the process ends')
      },
    }
  },
}
