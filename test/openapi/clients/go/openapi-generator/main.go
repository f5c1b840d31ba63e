// Calls the service with the client that openapi-generator generates for Go.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"

	api "generated-clients/generated"
)

func say(call string, result any) { fmt.Printf("%s: %v\n", call, result) }

// must returns the answer, or ends the program with what was received instead of it.
func must[A any](answer A, _ *http.Response, err error) A {
	if err != nil {
		panic(describe(err))
	}
	return answer
}

func describe(err error) string {
	var failure *api.GenericOpenAPIError
	if errors.As(err, &failure) {
		return err.Error() + ": " + string(failure.Body())
	}
	return err.Error()
}

func status(response *http.Response, err error) int {
	if err != nil {
		panic(describe(err))
	}
	return response.StatusCode
}

func sayError(call string, response *http.Response, err error) {
	var failure *api.GenericOpenAPIError
	if !errors.As(err, &failure) {
		panic(call)
	}
	decoded, ok := failure.Model().(api.Error)
	if !ok {
		panic(fmt.Sprintf("%s: the body was not decoded: %T", call, failure.Model()))
	}
	say(call, fmt.Sprintf("%d %s %t", response.StatusCode, decoded.GetCode(), decoded.Message != ""))
}

func main() {
	login, organization := os.Getenv("MOORAGE_LOGIN"), os.Getenv("MOORAGE_NAME")
	configuration := api.NewConfiguration()
	configuration.Servers = api.ServerConfigurations{{URL: os.Getenv("MOORAGE_URL")}}
	client := api.NewAPIClient(configuration)
	key := api.APIKey{Key: os.Getenv("MOORAGE_TOKEN"), Prefix: "token"}
	asUser := context.WithValue(context.Background(), api.ContextAPIKeys, map[string]api.APIKey{"tokenHeader": key})
	credentials := api.BasicAuth{UserName: login, Password: os.Getenv("MOORAGE_PASSWORD")}
	withPassword := context.WithValue(context.Background(), api.ContextBasicAuth, credentials)

	readOnly(asUser, client)
	organizations := client.IdentityOrganizationsTeamsAPI
	option := api.NewCreateOrgOption(organization)
	option.SetFullName("First")
	say("create organization", must(organizations.OrganizationsCreateOrganization(asUser).CreateOrgOption(*option).Execute()).FullName)
	change := api.NewEditOrgOption()
	change.SetFullName("Second")
	say("edit organization", must(organizations.OrganizationsEditOrganization(asUser, organization).EditOrgOption(*change).Execute()).FullName)
	say("get organization", must(organizations.OrganizationsGetOrganization(asUser, organization).Execute()).FullName)
	teamCalls(asUser, client, organization)
	tokenCalls(withPassword, client, login, organization)
	say("roles", len(must(client.AuthorizationAPI.AuthzListRoles(asUser).Org(organization).Execute())))
	say("settings", must(client.MiscellaneousAPI.PlatformGetApiSettings(asUser).Execute()).MaxResponseItems)
	_, response, err := organizations.OrganizationsCreateOrganization(asUser).CreateOrgOption(*option).Execute()
	sayError("name in use", response, err)
	say("delete organization", status(organizations.OrganizationsDeleteOrganization(asUser, organization).Execute()))
	_, response, err = organizations.OrganizationsGetOrganization(asUser, organization).Execute()
	sayError("deleted organization", response, err)
}

func readOnly(ctx context.Context, client *api.APIClient) {
	say("version", must(client.MiscellaneousAPI.PlatformGetVersion(ctx).Execute()).Version)
	say("own user", must(client.IdentityUsersSettingsAPI.IdentityGetCaller(ctx).Execute()).Login)
	users, response, err := client.IdentityUsersSettingsAPI.IdentitySearchUsers(ctx).Page(2).Limit(1).Execute()
	say("users", fmt.Sprintf("%d of %s", len(must(users, response, err).Data), response.Header.Get("X-Total-Count")))
}

func teamCalls(ctx context.Context, client *api.APIClient, organization string) {
	organizations := client.IdentityOrganizationsTeamsAPI
	option := api.NewCreateTeamOption("deployers")
	option.SetPermission("write")
	team := must(organizations.OrganizationsCreateTeam(ctx, organization).CreateTeamOption(*option).Execute())
	say("create team", team.Name)
	var names []string
	for _, each := range must(organizations.OrganizationsListTeams(ctx, organization).Execute()) {
		names = append(names, each.Name)
	}
	sort.Strings(names)
	say("teams", strings.Join(names, ", "))
	say("add member", status(organizations.OrganizationsAddTeamMember(ctx, team.Id, "ada").Execute()))
	var logins []string
	for _, each := range must(organizations.OrganizationsListTeamMembers(ctx, team.Id).Execute()) {
		logins = append(logins, each.Login)
	}
	say("members", strings.Join(logins, ", "))
}

func tokenCalls(ctx context.Context, client *api.APIClient, login, name string) {
	users := client.IdentityUsersSettingsAPI
	option := api.NewCreateAccessTokenOption(name)
	option.SetScopes([]string{"all"})
	token := must(users.IdentityCreateToken(ctx, login).CreateAccessTokenOption(*option).Execute())
	say("create token", fmt.Sprintf("%s %t", token.Name, token.Sha1 != ""))
	isListed := false
	for _, each := range must(users.IdentityListTokens(ctx, login).Execute()) {
		isListed = isListed || each.Id == token.Id
	}
	say("tokens", isListed)
	say("delete token", status(users.IdentityDeleteToken(ctx, login, strconv.FormatInt(token.Id, 10)).Execute()))
}
