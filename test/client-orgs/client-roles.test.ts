import test from 'ava'
import fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { clientRules, type RoleScope } from '../../core/client-orgs/client-roles.ts'

const scopes: readonly RoleScope[] = ['main', 'platform']
const rbac = 'rbac.authorization.k8s.io'
const rule = (apiGroup: string, resources: readonly string[], verbs: readonly string[]) => ({
  apiGroups: [apiGroup],
  resources,
  verbs,
})

const kept: readonly (readonly [string, RoleScope, object, readonly object[]])[] = [
  [
    'impersonation and tokens of service accounts are left out',
    'main',
    rule('', ['serviceaccounts', 'serviceaccounts/token'], ['create', 'impersonate', 'get']),
    [rule('', ['serviceaccounts'], ['create', 'get'])],
  ],
  [
    'roles and role bindings are read only',
    'main',
    rule(rbac, ['rolebindings', 'roles'], ['create', 'get']),
    [rule(rbac, ['rolebindings', 'roles'], ['get'])],
  ],
  [
    'a namespace itself is read only',
    'main',
    rule('', ['namespaces'], ['update', 'list']),
    [rule('', ['namespaces'], ['list'])],
  ],
  [
    'ConfigMaps are written in the main namespace',
    'main',
    rule('', ['configmaps', 'pods'], ['create', 'get']),
    [rule('', ['configmaps', 'pods'], ['create', 'get'])],
  ],
  [
    'ConfigMaps are read only where the platform writes',
    'platform',
    rule('', ['configmaps', 'pods'], ['create', 'get']),
    [rule('', ['pods'], ['create', 'get']), rule('', ['configmaps'], ['get'])],
  ],
  [
    'all resources of another group stay',
    'main',
    rule('kubedb.com', ['*'], ['get']),
    [rule('kubedb.com', ['*'], ['get'])],
  ],
]
for (const [title, scope, given, expected] of kept)
  test(title, (t) => t.deepEqual(clientRules(scope, [given]), { _tag: 'Right', right: expected }))

for (const given of [rule('*', ['*'], ['*']), rule('', ['*'], ['get']), rule('', ['*/token'], ['create'])])
  test(`a rule for ${given.resources.join()} of the groups ${given.apiGroups.join() || 'core'} is refused`, (t) => {
    for (const scope of scopes) t.is(clientRules(scope, [given])._tag, 'Left')
  })

test('no rules give a lasting credential, and none gives more than its role', (t) => {
  const text = (...words: readonly string[]) => fc.constantFrom(...words)
  const rules = fc.array(
    fc.record({
      apiGroups: fc.uniqueArray(text('', rbac, 'apps', '*'), { minLength: 1 }),
      resources: fc.uniqueArray(
        text('secrets', 'serviceaccounts', 'serviceaccounts/token', 'rolebindings', 'configmaps', 'namespaces', '*'),
        { minLength: 1 },
      ),
      verbs: fc.uniqueArray(text('get', 'create', 'patch', 'impersonate', 'bind', 'escalate', '*'), { minLength: 1 }),
    }),
  )
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.constantFrom(...scopes), rules, (scope, given) => {
        const result = clientRules(scope, given)
        if (!isRight(result)) return true
        return result.right.every((each) => {
          const { apiGroups, resources, verbs } = each as unknown as (typeof given)[number]
          const [group] = apiGroups
          const isReadOnly = verbs.every((verb) => ['get', 'list', 'watch'].includes(verb))
          const forbidden =
            verbs.some((verb) => ['impersonate', 'bind', 'escalate', '*'].includes(verb)) ||
            (group === '' && resources.some((one) => one === 'serviceaccounts/token' || one === '*')) ||
            group === '*' ||
            (!isReadOnly && group === rbac) ||
            (!isReadOnly && group === '' && resources.includes('namespaces')) ||
            (!isReadOnly && group === '' && scope === 'platform' && resources.includes('configmaps'))
          const isGiven = resources.every((resource) =>
            verbs.every((verb) =>
              given.some(
                (one) =>
                  one.apiGroups.includes(group!) &&
                  one.resources.includes(resource) &&
                  (one.verbs.includes(verb) || one.verbs.includes('*')),
              ),
            ),
          )
          return !forbidden && isGiven
        })
      }),
    ),
  )
})
