"""The scanner: well-formed fakes are found, ordinary text is left alone. Fakes are made at run time: none stands in this file."""

import base64
import random
import string
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.secret_rules import KINDS, RULES
from gateway.secret_scanner import RuleScanner
from protocol.ports import SecretScanner

SCANNER: SecretScanner = RuleScanner()
DICE = random.Random(20260521)
LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits


def rnd(length: int, alphabet: str = LETTERS) -> str:
    """Random characters with at least one digit and one letter."""
    return (
        "7"
        + "".join(DICE.choice(alphabet) for _ in range(length - 2))
        + "b" * ("b" in alphabet)
        + "B" * ("b" not in alphabet)
    )


TOKENS = [
    ("age_secret_key", "AGE-SECRET-" + "KEY-1" + rnd(58, UPPER)),
    ("aws_access_key", "AK" + "IA" + rnd(16, UPPER)),
    ("aws_access_key", "AS" + "IA" + rnd(16, UPPER)),
    *(("github_token", f"gh{letter}_" + rnd(36)) for letter in "pousr"),
    ("github_token", "github_" + "pat_" + rnd(22) + "_" + rnd(59)),
    *(("gitlab_token", f"gl{part}-" + rnd(20)) for part in ("pat", "dt", "rt", "ptt")),
    *(("slack_token", f"xox{letter}-" + rnd(12, string.digits) + "-" + rnd(24)) for letter in "baprs"),
    ("slack_token", "xa" + "pp-1-A" + rnd(10, UPPER) + "-" + rnd(40, HEX)),
    ("stripe_key", "sk_" + "live_" + rnd(24)),
    ("stripe_key", "rk_" + "live_" + rnd(24)),
    ("stripe_key", "sk_" + "test_" + rnd(99)),
    ("stripe_webhook_secret", "whs" + "ec_" + rnd(32)),
    ("google_api_key", "AI" + "za" + rnd(35)),
    ("google_oauth_secret", "GOC" + "SPX-" + rnd(28)),
    ("google_oauth_token", "ya" + "29." + rnd(60)),
    ("anthropic_key", "sk-" + "ant-api03-" + rnd(93) + "AA"),
    ("openrouter_key", "sk-" + "or-v1-" + rnd(64, HEX)),
    ("openai_key", "s" + "k-" + rnd(48)),
    ("openai_key", "sk-" + "proj-" + rnd(74) + "_" + rnd(73)),
    ("huggingface_token", "h" + "f_" + rnd(34)),
    ("groq_key", "gs" + "k_" + rnd(52)),
    ("perplexity_key", "pp" + "lx-" + rnd(48)),
    ("xai_key", "xa" + "i-" + rnd(80)),
    ("replicate_token", "r" + "8_" + rnd(37)),
    ("langsmith_key", "lsv2" + "_pt_" + rnd(32, HEX) + "_" + rnd(10, HEX)),
    ("npm_token", "np" + "m_" + rnd(36)),
    ("pypi_token", "py" + "pi-AgEIcHlwaS5vcmc" + rnd(120)),
    ("rubygems_key", "ruby" + "gems_" + rnd(48, HEX)),
    ("crates_token", "c" + "io" + rnd(32)),
    ("sendgrid_key", "S" + "G." + rnd(22) + "." + rnd(43)),
    ("twilio_key", "S" + "K" + rnd(32, HEX)),
    ("digitalocean_token", "do" + "p_v1_" + rnd(64, HEX)),
    ("telegram_bot_token", "7" + "123456789:A" + "A" + rnd(33)),
    ("discord_token", "M" + rnd(23) + "." + rnd(6) + "." + rnd(38)),
    ("jwt", "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxIn0." + rnd(43)),
    ("azure_storage_key", "AccountName=x;Account" + "Key=" + rnd(86) + "=="),
    ("azure_client_secret", rnd(3) + "8Q" + "~" + rnd(34)),
    ("azure_sas_signature", "https://x.blob.core.windows.net/c?sv=1&s" + "ig=" + rnd(43) + "%3D"),
    ("mailgun_key", "k" + "ey-" + rnd(32, HEX)),
    ("mailchimp_key", rnd(32, HEX) + "-u" + "s14"),
    ("brevo_key", "xkey" + "sib-" + rnd(64, HEX) + "-" + rnd(16)),
    *(("shopify_token", f"shp{part}_" + rnd(32, HEX)) for part in ("at", "ca", "pa", "ss")),
    ("linear_key", "lin" + "_api_" + rnd(40)),
    ("notion_token", "nt" + "n_" + rnd(46)),
    ("notion_token", "sec" + "ret_" + rnd(43)),
    ("databricks_token", "da" + "pi" + rnd(32, HEX)),
    ("vault_token", "hv" + "s." + rnd(90)),
    ("docker_token", "dckr" + "_pat_" + rnd(27)),
    ("square_token", "sq0" + "csp-" + rnd(43)),
    ("square_token", "EA" + "AA" + rnd(60)),
    ("facebook_token", "EA" + "AB" + rnd(120)),
    ("doppler_token", "dp" + ".pt." + rnd(43)),
    ("new_relic_key", "NR" + "AK-" + rnd(27, UPPER)),
    ("grafana_token", "gl" + "sa_" + rnd(32) + "_" + rnd(8, HEX)),
    ("postman_key", "PM" + "AK-" + rnd(24, HEX) + "-" + rnd(34, HEX)),
    ("sentry_token", "sn" + "trys_" + rnd(80)),
    ("planetscale_token", "pscale" + "_tkn_" + rnd(43)),
    ("pulumi_token", "pu" + "l-" + rnd(40, HEX)),
    ("terraform_token", rnd(14) + ".atlas" + "v1." + rnd(67)),
    ("atlassian_token", "AT" + "ATT3" + rnd(180)),
    ("figma_token", "fi" + "gd_" + rnd(40)),
    ("supabase_token", "sb" + "p_" + rnd(40, HEX)),
    ("airtable_token", "pa" + "t" + rnd(14) + "." + rnd(64, HEX)),
    ("tailscale_key", "ts" + "key-auth-" + rnd(16) + "-" + rnd(32)),
    ("heroku_key", "HR" + "KU-" + rnd(60)),
    ("alibaba_access_key", "LT" + "AI" + rnd(20)),
    ("onepassword_token", "op" + "s_ey" + "J" + rnd(200)),
]
"""The whole text is the credential."""

ARMOUR = "-" * 5
KEY_BODY = "\n".join(rnd(64) for _ in range(6))
W = "hunter" + "2!"
KEY32 = rnd(32)
PLACED = [
    ("private_key", f"{ARMOUR}BEGIN RSA PRIVATE KEY{ARMOUR}\n{KEY_BODY}\n{ARMOUR}END RSA PRIVATE KEY{ARMOUR}", "{}"),
    ("private_key", f"{ARMOUR}BEGIN OPENSSH PRIVATE KEY{ARMOUR}\n{KEY_BODY}", "my key:\n{}\n"),
    (
        "private_key",
        f"{ARMOUR}BEGIN PGP PRIVATE KEY BLOCK{ARMOUR}\n{KEY_BODY}\n{ARMOUR}END PGP PRIVATE KEY BLOCK{ARMOUR}",
        "{} ok?",
    ),
    (
        "private_key",
        f"{ARMOUR}BEGIN PRIVATE KEY{ARMOUR}\\n{rnd(64)}\\n{ARMOUR}END PRIVATE KEY{ARMOUR}",
        '{{"key": "{}"}}',
    ),
    ("aws_secret_key", rnd(40), "aws_secret_access_key = {}"),
    ("aws_secret_key", rnd(40), 'AWS_SECRET_ACCESS_KEY="{}"'),
    ("slack_webhook", f"T{rnd(8, UPPER)}/B{rnd(8, UPPER)}/{rnd(24)}", "https://hooks.slack.com/services/{}"),
    ("discord_webhook", f"{rnd(18, string.digits)[:-1]}0/{rnd(68)}", "https://discord.com/api/webhooks/{}"),
    ("twilio_auth_token", rnd(32, HEX), "twilio auth token {}"),
    ("basic_auth_url", W, "https://bob:{}@example.org/x"),
    ("connection_string", "Tr0ub4dor", "postgres://admin:{}@db.example.org:5432/app"),
    ("connection_string", "Tr0ub4dor", "mongodb+srv://admin:{}@cluster0.example.org"),
    ("connection_string", "p4ss", "redis://:{}@cache:6379/0"),
    ("authorization", rnd(40), "Authorization: Bearer {}"),
    ("authorization", base64.b64encode(b"bob:" + W.encode()).decode(), "authorization: Basic {}"),
    ("password", W, "password is {}"),
    ("password", W, "My password is {} and I like tea"),
    ("password", W, "The password for the staging box: {}"),
    ("password", W, "pwd={}"),
    ("password", W, "password → {}".replace("→", "->")),
    ("password", "Sunny-Day42", "the wifi password is {}."),
    ("password", "Hunter" + "22", "I just changed my password to {}"),
    ("password", "correct horse battery staple", 'my passphrase is "{}"'),
    ("password", "sword" + "fish", "password: {}"),
    ("password", "sword" + "fish", "my password is {}."),
    ("password", "s3cr3t" + "V@lue", "DB_PASSWORD={}"),
    ("password", "Foo9bar" + "!", "mysql -u root --password={}"),
    ("password", "Foo9bar" + "!", "Server=x;User Id=sa;Password={};"),
    ("password", "letmein", "password = '{}'"),
    ("password", "Zima" + "2025!", "мой пароль {}"),
    ("password", "Zima" + "2025!", "Пароль: {}"),
    ("password", "Zima" + "2025!", "пароль от почты — {}"),
    ("password", "Лето" + "2025", "Новый пароль теперь {}"),
    ("password", "qwerty" + "12", "Кодовое слово: {}"),
    ("password", "Sommer" + "2024", "Das Passwort ist {}"),
    ("password", "Sommer" + "2024", "Mein Kennwort lautet {}."),
    ("password", "gato" + "123", "La contraseña es {}"),
    ("password", "Perro!" + "77", "mi clave del banco es {}"),
    ("password", "Soleil" + "99", "Le mot de passe est {}"),
    ("password", "Soleil" + "99", "mdp : {}"),
    ("password", "praia" + "2020", "minha senha é {}"),
    ("password", "abc" + "12345", "密码是{}"),
    ("password", "abc" + "12345", "パスワードは {}"),
    ("pin", "4821", "my pin is {}"),
    ("pin", "4821", "My card PIN: {}."),
    ("password", W, "{} is my password"),
    ("password", W, "please use {} as the password"),
    ("password", "Tiger#Blue" + "88", "netflix login: bob@example.com / {}"),
    ("password", "Passw0rd" + "!", "user admin, pass {}"),
    ("password", "S3cret" + "99", "curl -u admin:{} https://api.example.com"),
    ("password", "Gre3n" + "Apple", "sshpass -p '{}' ssh host"),
    ("wallet_key", rnd(64, HEX), "my wallet: private key 0x{}"),
    ("vault_token", "s." + rnd(24), "vault login {}"),
    ("pin", "2291", "gate code {}"),
    ("pin", "7741", "пин от карты {}"),
    ("pin", "7741", "{} is my PIN"),
    ("pin", "12-34-56", "the safe combination is {}"),
    ("pin", "4821", "пин-код {}"),
    ("pin", "4821", "Мой пинкод: {}"),
    ("pin", "4821", "Meine PIN ist {}"),
    ("pin", "4821", "le code secret est {}"),
    ("pin", "482913", "the alarm code for the office is {}"),
    ("pin", "12345678", "my password is {}"),
    ("card_security_code", "123", "cvv: {}"),
    ("api_key", KEY32, 'api_key = "{}"'),
    ("api_key", KEY32, "my api key is {}"),
    ("api_key", KEY32, "export SERVICE_TOKEN={}"),
    ("api_key", KEY32, 'clientSecret: "{}",'.replace("S", "_s")),
    ("api_key", KEY32, "токен: {}"),
    ("seed_phrase", "apple brave crane delta eagle flame grape honey igloo joker koala lemon", "seed phrase: {}"),
    ("social_security_number", "078-05-" + "1120", "my ssn is {}"),
    ("credit_card", "4111 1111 " + "1111 1111", "card {} exp 12/27"),
    ("credit_card", "411111111111" + "1111", "my visa is {}"),
    ("credit_card", "3782-822463-" + "10005", "{}"),
    ("credit_card", "5555 5555 " + "5555 4444", "номер карты {}"),
    ("iban", "DE89 3704 0044 " + "0532 0130 00", "IBAN {} please"),
    ("iban", "GB82WEST1234" + "5698765432", "{}"),
    ("iban", "NL91ABNA" + "0417164300", "to {}, thanks"),
]
"""The secret in its place."""

INNOCENT = Path(__file__).with_name("innocent_sentences.txt").read_text(encoding="utf-8").splitlines()


def spans(text: str) -> list[tuple[str, str]]:
    return [(span.kind, text[span.start : span.end]) for span in SCANNER.find(text)]


@pytest.mark.parametrize(("kind", "secret"), TOKENS, ids=[f"{i}-{kind}" for i, (kind, _) in enumerate(TOKENS)])
@pytest.mark.parametrize("place", ["{}", "here it is: {} thanks", "line\n{}\nline", '"{}"', "({})", "Вот {}, держи"])
def test_token_of_a_vendor_is_found_wherever_it_stands(kind: str, secret: str, place: str):
    found = SCANNER.find(place.format(secret))
    assert kind in {span.kind for span in found}
    assert secret not in SCANNER.mask(place.format(secret))


@pytest.mark.parametrize(
    ("kind", "secret", "place"), PLACED, ids=[f"{i}-{kind}" for i, (kind, _, _) in enumerate(PLACED)]
)
def test_secret_in_context_is_found_and_only_it(kind: str, secret: str, place: str):
    assert spans(place.format(secret)) == [(kind, secret)]


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_passes(text: str):
    assert spans(text) == []


def test_there_is_enough_innocent_text_and_every_kind_is_shown():
    assert len(INNOCENT) >= 150
    assert {kind for kind, *_ in TOKENS + PLACED} == set(KINDS)


def test_innocent_lines_stay_innocent_together():
    assert spans("\n".join(INNOCENT)) == []


HIDDEN = [
    ("p\u200ba\u200cs\u200ds\u2060word is hun\ufeffter" + "2!", "password"),
    ("\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44: " + W, "password"),
    ("pass\u00adword is \u202e" + W, "password"),
    ("gh" + "p_" + rnd(18) + "\n" + rnd(18), "github_token"),
    ("gh" + "p_" + rnd(18) + " \\\r\n    " + rnd(18), "github_token"),
    ("> AK" + "IA" + rnd(8, UPPER) + "\n> " + rnd(8, UPPER), "aws_access_key"),
    ("gh\u2060" + "p_" + "\u200b".join(rnd(36)), "github_token"),
    (base64.b64encode(("token gh" + "p_" + rnd(36)).encode()).decode(), "github_token"),
    (base64.urlsafe_b64encode(("my password is " + W).encode()).decode().rstrip("="), "password"),
    ("La contrasen\u0303a es gato" + "123", "password"),
    ("password: \u201c" + W + "\u201d", "password"),
]


@pytest.mark.parametrize(("text", "kind"), HIDDEN, ids=range(len(HIDDEN)))
def test_hiding_does_not_help(text: str, kind: str):
    assert [k for k, _ in spans(text)] == [kind]


def test_spans_are_told_in_the_original_text():
    text = "\u200b\ufb01ne: \uff50assword is hun\u200bter" + "2! ok"
    assert SCANNER.mask(text) == "\u200b\ufb01ne: \uff50assword is [secret:password] ok"


def test_two_secrets_in_one_text():
    text = f"pin is 4821, card 4111 1111 {1111} 1111, {TOKENS[3][1]}"
    assert SCANNER.mask(text) == "pin is [secret:pin], card [secret:credit_card], [secret:github_token]"


def test_a_marker_hides_nothing_but_itself():
    assert SCANNER.find("password: [secret:password]") == []
    assert SCANNER.mask("password: [secret:password]") == "password: [secret:password]"
    assert SCANNER.find("password: [secret:" + W + "]") != []
    assert W not in SCANNER.mask("[secret:pin] password: " + W)


@pytest.mark.parametrize("number", ["4111 1111 1111 1112", "1111 1111 1111 1111", "0000 0000 0000 0000"])
def test_number_that_fails_its_check_is_no_card(number: str):
    assert spans(f"my card is {number}") == []


@pytest.mark.parametrize("account", ["DE89 3704 0044 0532 0130 01", "ZZ82WEST12345698765432", "GB82WEST1234569876"])
def test_number_that_fails_its_check_is_no_account(account: str):
    assert spans(f"IBAN {account}") == []


PIECES = st.one_of(
    st.text(max_size=30),
    st.sampled_from([*(secret for _, secret in TOKENS), *(place.format(secret) for _, secret, place in PLACED)]),
    st.sampled_from(
        [
            "[secret:password]",
            "[secret:",
            "]",
            "password is ",
            "pin: ",
            "=",
            '"',
            "\n",
            "\u200b",
            "\x00",
            "\ud800",
            "\ue000",
        ]
    ),
)


@given(st.lists(PIECES, max_size=6).map("".join))
def test_spans_are_ordered_apart_and_inside(text: str):
    last = 0
    for span in SCANNER.find(text):
        assert last <= span.start < span.end <= len(text)
        assert span.kind in KINDS
        last = span.end


@given(st.lists(PIECES, max_size=6).map("".join))
def test_masked_text_holds_nothing_and_masking_again_changes_nothing(text: str):
    masked = SCANNER.mask(text)
    assert SCANNER.find(masked) == []
    assert SCANNER.mask(masked) == masked


@given(st.sampled_from(TOKENS), st.text(max_size=40), st.text(max_size=40))
def test_mask_removes_the_value_from_any_surroundings(token: tuple[str, str], before: str, after: str):
    assert token[1] not in SCANNER.mask(f"{before} {token[1]} {after}")


def test_patterns_keep_to_what_a_linear_engine_takes():
    for rule in RULES:
        pattern = rule.pattern.pattern
        assert not any(sign in pattern for sign in ("(?=", "(?!", "(?<=", "(?<!", "(?P=", "\\1"))
        assert rule.kind == rule.kind.lower().replace("-", "_")


@pytest.mark.parametrize(
    "flood",
    [
        "password " * 14000,
        "eyJaaaaaaaaa." * 10000,
        "4111 " * 26000,
        "a://b:" * 22000,
        "password" + " " * 130_000,
        "-----BEGIN PRIVATE KEY-----" * 4800,
    ],
    ids=["names", "jwt", "digits", "urls", "blanks", "pem"],
)
def test_time_grows_with_the_text_and_no_faster(flood: str):
    def seconds(text: str) -> float:
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            SCANNER.find(text)
            best = min(best, time.process_time() - start)
        return best

    eighth = max(seconds(flood[: len(flood) // 8]), 0.001)
    assert seconds(flood) < 8 * 3 * eighth
