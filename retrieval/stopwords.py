"""Function words by language: the words that build a question, not those that it is about.

Rule 1: words stand folded as the lexicon folds them (no case, no diacritics, what follows an apostrophe is cut),
unstemmed.
Rule 2: a word that is also a month, a name of a thing or a number stays out of its own language's list: `may` is a
month.
"""

# ruff: noqa: RUF001  (one of the languages is Russian)

_ENGLISH = """
a about above after again against all also am an and any anybody anyone anything are aren as at be because been before
being below between both but by can cannot could couldn did didn do does doesn doing don done down during each either
ever
every few for from further get give got had hadn has hasn have haven having he her here hers herself him himself his how
i
if in into is isn it its itself just let like ll me might mine more most much must mustn my myself neither no nor not
now of
off on once one only or other our ours ourselves out over own please re s same shall shan she should shouldn since so
some
somebody someone something such t tell than that the their theirs them themselves then there these they this those
through
to too under until up upon us ve very was wasn we were weren what whatever when whenever where wherever whether which
while
who whoever whom whose why will with within without won would wouldn yet you your yours yourself yourselves d m o
"""

_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist bitte da dafur
damit dann daran darauf darum das dass dein deine deinem deinen deiner dem den denn der deren des dessen dich die dies
diese
diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure fur gegen
gewesen gibt hab habe haben hast hat hatte hatten hatte hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im
in
indem ins ist ja jede jedem jeden jeder jedes jemand jene jetzt kann kannst kein keine keinen konnen konnte mal man
manche
mehr mein meine meinem meinen meiner mich mir mit muss mussen nach nicht nichts noch nun nur ob oder ohne sehr sein
seine
seinem seinen seiner seit sich sie sind so solche soll sollte sondern uber um und uns unser unsere unter vom von vor
wann war
waren warst warum was weil welche welchem welchen welcher welches wem wen wenn wer werde werden wessen wie wieder will
wir
dafuer durfte durften fuer gab haette haetten koennen konnten mussten musste sollten wollte wollten wolltest koennte
muessen ueber wuerde wuerden wird wirst wo woher wohin wollen worden wurde wurden zu zum zur zwischen
"""

_SPANISH = """
a al algo alguien algun alguna algunas alguno algunos ante antes aquel aquella aquellas aquello aquellos aqui asi aun
aunque
cada como con contra cual cuales cualquier cuando cuanta cuantas cuanto cuantos de del desde donde dos durante e el ella
ellas ello ellos en entre era eran eres es esa esas ese eso esos esta estaba estaban estado estan estar estas este esto
estos estoy fue fueron queria queriamos querian querias podemos puede puedo fui ha habia haber habla han has hasta hay
he hemos hice hizo la las le les lo los mas me mi mia mias
mio mios mis mucho muchos muy nada ni no nos nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros para
pero
poco por porque pues que quien quienes se sea ser si sido siempre sin sobre sois somos son soy su sus suya suyo tal
tambien
tan tanto te tengo tenia ti tiene tienen todo todos tu tus tuya tuyo un una unas uno unos usted ustedes va vosotros y ya
yo
"""

_FRENCH = """
a afin ai aie ainsi alors apres as au aucun aucune aussi autre autres aux avait avant avec avez avoir avons c ca car ce
ceci
cela celle celles celui ces cet cette ceux chaque chez ci comme comment d dans de depuis des deux dois doit donc dont du
elle
elles en encore entre es est et etaient etait etant ete etes etre eu eux fait fut furent il ils j je l la le les leur
leurs
lors lui m ma mais me meme memes mes mien moi moins mon n ne ni nos notre notres nous on ont ou par parce pas peu peut
plus
pour pourquoi puis qu quand que quel quelle quelles quelque quelques quels qui quoi s sa sans se sera ses si sien soi
soit
sommes son sont sous suis sur t ta te tes toi ton tous tout toute toutes tres tu un une vers voici voila vos votre vous
y
"""

_RUSSIAN = """
а без более больше будет будто бы был была были было быть в вам вами вас ваш ваша ваше ваши весь во вот все всегда всего
всем всеми всех всю вы где да даже для до его ее ей ему если есть еще ею же за зачем здесь и из изо или им ими их к
каждый
как какая какие каким каких какого какое какой какую ко когда кого кое который которая которое которые которых кто куда
ли
либо между меня мне много мной могу может можно мои мой моя моего моей моем моему моих моим мое мы на над надо нам нами
нас
наш наша наше наши не него нее ней нельзя нем нет ни нибудь никогда ним ними них ничего но ну о об обо однако он она они
оно
от откуда очень перед по под после потом потому почему при про раз с сам сама сами самый свой своя свое свои своего
своей
своих себе себя сейчас сколько со такая такие такой там тебе тебя тем теперь то тобой тогда того тоже той только том
тому тот
ту тут ты у уж уже хоть чего чей чем через что чтобы чуть чье чья хотел хотела хотели хотим хочу эта эти этим этих это
этого этой этом этому этот эту я
"""

CYRILLIC = frozenset(_RUSSIAN.split())
LATIN = tuple(frozenset(words.split()) for words in (_ENGLISH, _GERMAN, _SPANISH, _FRENCH))
"""One list a language.

A word of one is often a noun of another (`die`, `war`, `son`), so only one list holds for a text;
the first wins a tie."""


GERMAN = LATIN[1]


_ANY = frozenset[str]().union(*LATIN)


def _spoken(words: list[str]) -> frozenset[str]:
    known = [word for word in words if word in _ANY]
    return max(LATIN, key=lambda stops: sum(map(stops.__contains__, known)))


_WITH_CYRILLIC: dict[frozenset[str], frozenset[str]] = {stops: stops | CYRILLIC for stops in LATIN}


def stop_words_for(words: list[str]) -> frozenset[str]:
    """Return the function words of the language of most words, with the Russian ones, which collide with none."""
    return _WITH_CYRILLIC[_spoken(words)]


def is_german(words: list[str]) -> bool:
    """Return whether most of the words speak German."""
    return _spoken(words) is GERMAN
